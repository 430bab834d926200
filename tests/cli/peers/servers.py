#!/usr/bin/env python3
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
"""Servers on free ports of loopback, for the rows of the tables of peers.

  servers.py all FOLDER    starts all servers
  servers.py late FOLDER   starts two HTTP servers 300 ms late, one of them at a Unix socket

Writes their addresses to FOLDER/addresses as assignments, then serves until it is killed or its parent ends.
"""

import http.server
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time

JSON = b'{"owner": {"name": "anna"}, "enabled": true}'
TEXT = b"first line\nall lights are green\n"
CERTIFICATE = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout key.pem -out cert.pem"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers any method; the path says how."""

    asked = set()  # Paths below /once/ that were asked for.

    def log_message(self, *_):
        pass

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length)
        status, body = 200, b"ready\n"
        if self.path.startswith("/status/"):
            status = int(self.path.rsplit("/", 1)[1])
        elif self.path.startswith("/once/"):
            status = 200 if self.path in self.asked else 503
            self.asked.add(self.path)
        elif self.path == "/redirect":
            status = 302
        elif self.path == "/secret":
            status = 200 if self.headers.get("X-Auth") == "sesame" else 401
        elif self.path == "/slow":
            time.sleep(5)
        elif self.path in ("/json", "/text"):
            body = JSON if self.path == "/json" else TEXT
        elif self.path == "/echo":
            body = sent
        elif self.path == "/headers":
            body = str(self.headers).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/")
        self.send_header("X-Method", self.command)
        self.send_header("X-Empty", "")
        self.send_header("X-Token", "Key 7")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = handle_any


class HttpServer(http.server.ThreadingHTTPServer):
    """Serves HTTP on a socket that is bound already."""

    def __init__(self, bound):
        super().__init__(bound.getsockname(), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = bound

    def handle_error(self, *_):
        pass  # The client has closed the connection.


def bound_socket(host="127.0.0.1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.bind((host, 0))
    return bound


def port_of(bound):
    return bound.getsockname()[1]


def in_thread(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def start_http(bound):
    bound.listen(64)
    in_thread(HttpServer(bound).serve_forever)
    return port_of(bound)


def start_local_http(path):
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(path)
    bound.listen(64)
    in_thread(HttpServer(bound).serve_forever)
    return path


def answer(connection, first, then):
    """Sends `first`, then an answer to whatever the client sends."""
    with connection:
        connection.sendall(first)
        if then and connection.recv(4096):
            connection.sendall(then)
            connection.recv(4096)


def start_talker(first=b"", then=b"", host="127.0.0.1"):
    """Starts a server that knows one conversation; without texts it closes each connection."""
    bound = bound_socket(host)
    bound.listen(64)

    def serve():
        while True:
            in_thread(answer, bound.accept()[0], first, then)

    in_thread(serve)
    return port_of(bound)


def frame(kind, flags, payload, stream=1):
    """A frame of HTTP/2: RFC 9113, 4.1."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def fields(*headers):
    """Headers as HPACK writes them without tables: RFC 7541, 6.2.2."""
    return b"".join(b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in headers)


def ends_stream(received):
    """Whether a client has sent a frame of headers or data that ends a stream."""
    at = 24  # The preface.
    while len(received) >= at + 9:
        length = int.from_bytes(received[at:at + 3], "big")
        if received[at + 3] <= 1 and received[at + 4] & 1:
            return len(received) >= at + 9 + length
        at += 9 + length
    return False


def answer_grpc(connection):
    """Answers one call of the health service; the name of the service says how."""
    with connection:
        received = b""
        while not ends_stream(received):
            part = connection.recv(4096)
            if not part:
                return
            received += part
        status = b"5" if b"my.Other" in received else b"0"
        serving = b"\2" if b"my.Down" in received else b"\1"
        if b"my.Slow" in received:
            time.sleep(5)
        connection.sendall(
            frame(4, 0, b"", 0)
            + frame(1, 4, fields((b":status", b"200"), (b"content-type", b"application/grpc")))
            + frame(0, 0, b"\0\0\0\0\2\x08" + serving)
            + frame(1, 5, fields((b"grpc-status", status))))
        connection.recv(4096)


def start_grpc():
    bound = bound_socket()
    bound.listen(64)

    def serve():
        while True:
            in_thread(answer_grpc, bound.accept()[0])

    in_thread(serve)
    return port_of(bound)


def start_https(folder):
    """Starts a server with a certificate that nobody has signed, if openssl is installed."""
    if not shutil.which("openssl"):
        return ""
    subprocess.run(["openssl", *CERTIFICATE.split()], cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem"))
    bound = context.wrap_socket(bound_socket(), server_side=True, do_handshake_on_connect=False)
    return f"https://127.0.0.1:{start_http(bound)}"


def start_ipv6(keep):
    """Returns a port that refuses and one that accepts, or empty texts without IPv6."""
    try:
        keep.append(bound_socket("::1"))
        return port_of(keep[-1]), start_talker(host="::1")
    except OSError:
        return "", ""


def full_port(keep):
    """Returns a port whose queue is full: a connection to it hangs."""
    bound = bound_socket()
    bound.listen(0)
    keep.append(bound)
    for _ in range(4):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(bound.getsockname())
        keep.append(client)
    return port_of(bound)


def after_length(text, size=4, order="big", more=0):
    return (len(text) + more).to_bytes(size, order) + text


def mysql_packet(number, text):
    return after_length(bytes([number]) + text, 3, "little", more=-1)


# The shortest answers that each protocol knows.
REDIS = b"+PONG\r\n:1\r\n$5\r\nready\r\n"  # Also that a key exists, and its value.
REDIS_WITHOUT_KEYS = b"+PONG\r\n:0\r\n"
POSTGRES = b"R\0\0\0\x08\0\0\0\x03"
MYSQL = mysql_packet(0, b"\x0a8.0.36\0\x08\0\0\0abcdefgh\0\xff\xf7\xff\x02\0\xff\xc1\x15" + bytes(10)
                     + b"abcdefghijkl\0mysql_native_password\0")
MYSQL_REFUSAL = mysql_packet(2, b"\xff\x15\x04#28000Access denied")
AMQP = b"\1\0\0" + after_length(
    b"\0\x0a\0\x0a\0\x09" + bytes(4) + after_length(b"PLAIN") + after_length(b"en_US")) + b"\xce"
KAFKA = after_length(b"wait" + b"\0\0\0\0\0\1\0\x12\0\0\0\3")
MONGODB = after_length(
    b"\7\0\0\0tiaw\xdd\7\0\0" + bytes(5)
    + after_length(b"\x08isWritablePrimary\0\1\1ok\0\0\0\0\0\0\0\xf0\x3f\0", order="little", more=4),
    order="little", more=4)


def dns_name(text):
    return b"".join(bytes([len(part)]) + part for part in text.split(b".")) + b"\0"


# Records of every name, by the number of their type.
DNS_RECORDS = {
    1: bytes([192, 0, 2, 1]),
    2: dns_name(b"ns.test"),
    5: dns_name(b"b.test"),
    15: b"\0\x0a" + dns_name(b"mx.test"),
    16: b"\3v=1",
    28: bytes.fromhex("20010db8") + bytes(11) + b"\1",
}


def dns_reply(query):
    """Answers a query, which is a header of 12 bytes and one question."""
    end = query.index(b"\0", 12) + 5
    record = DNS_RECORDS.get(int.from_bytes(query[end - 4:end - 2], "big"))
    found = b"" if record is None else (
        b"\xc0\x0c" + query[end - 4:end] + bytes([0, 0, 0, 60]) + after_length(record, 2))
    return query[:2] + bytes([0x81, 0x80, 0, 1, 0, 1 if found else 0, 0, 0, 0, 0]) + query[12:end] + found


def start_dns():
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bound.bind(("127.0.0.1", 0))

    def serve():
        while True:
            query, client = bound.recvfrom(512)
            bound.sendto(dns_reply(query), client)

    in_thread(serve)
    return port_of(bound)


def start_all(folder, keep):
    refusing = bound_socket()  # Bound, so that nobody else listens there.
    keep.append(refusing)
    port6, open6 = start_ipv6(keep)
    return {
        "PORT": port_of(refusing),
        "OPEN": start_talker(),
        "OPEN2": start_talker(),
        "PORT6": port6,
        "OPEN6": open6,
        "FULL": full_port(keep),
        "HTTP": f"http://127.0.0.1:{start_http(bound_socket())}",
        "HTTPS": start_https(folder),
        "HTTP_SOCKET": start_local_http(os.path.join(folder, "http_socket")),
        "GRPC": start_grpc(),
        "REDIS": start_talker(then=REDIS),
        "EMPTY_REDIS": start_talker(then=REDIS_WITHOUT_KEYS),
        "POSTGRES": start_talker(then=POSTGRES),
        "MYSQL": start_talker(MYSQL, MYSQL_REFUSAL),
        "AMQP": start_talker(then=AMQP),
        "KAFKA": start_talker(then=KAFKA),
        "MONGODB": start_talker(then=MONGODB),
        "DNS": start_dns(),
    }


def start_late(folder, _):
    bound = bound_socket()
    path = os.path.join(folder, "socket")

    def listen():
        time.sleep(0.3)
        start_http(bound)
        start_local_http(path)

    in_thread(listen)
    return {"LATE": port_of(bound), "LATE_SOCKET": path}


def main():
    mode, folder = sys.argv[1:]
    parent = os.getppid()
    keep = []
    addresses = (start_all if mode == "all" else start_late)(folder, keep)
    path = os.path.join(folder, "addresses")
    with open(path + ".part", "w", encoding="ascii") as file:
        file.writelines(f"{name}={value}\n" for name, value in addresses.items())
    os.rename(path + ".part", path)
    while os.getppid() == parent:
        time.sleep(0.1)


if __name__ == "__main__":
    main()
