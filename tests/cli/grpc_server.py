#!/usr/bin/env python3
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
"""A gRPC server on a port of loopback, with a health service made by hand.

  grpc_server.py PORT                   knows the services below
  grpc_server.py PORT none              has no health service
  grpc_server.py PORT tls KEY CERT      knows the services below, over TLS

  ""         serves
  my.Down    does not serve
  my.Late    serves from the third call on
  my.Secret  serves calls with the header x-token: sesame; refuses others
"""

import sys
from concurrent import futures

import grpc

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


class Health(grpc.GenericRpcHandler):
    """Answers grpc.health.v1.Health/Check with bytes."""

    def __init__(self):
        self.late_calls = 0

    def service(self, handler_call_details):
        if handler_call_details.method != "/grpc.health.v1.Health/Check":
            return None
        return grpc.unary_unary_rpc_method_handler(self.check)

    def check(self, request, context):
        # A HealthCheckRequest: a tag, the length of the name, and the name.
        if request and (request[0] != 0x0A or request[1] != len(request) - 2):
            context.abort(grpc.StatusCode.INTERNAL, f"not a HealthCheckRequest: {request!r}")
        name = request[2:].decode()
        if name == "my.Late":
            self.late_calls += 1
            return SERVING if self.late_calls > 2 else NOT_SERVING
        if name == "my.Secret" and ("x-token", "sesame") not in context.invocation_metadata():
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "no token: 100 %")
        if name not in ("", "my.Down", "my.Secret"):
            context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return NOT_SERVING if name == "my.Down" else SERVING


def main():
    port, *rest = sys.argv[1:]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    if rest != ["none"]:
        server.add_generic_rpc_handlers((Health(),))
    address = f"127.0.0.1:{port}"
    if rest and rest[0] == "tls":
        key, certificate = (open(path, "rb").read() for path in rest[1:])
        server.add_secure_port(address, grpc.ssl_server_credentials([(key, certificate)]))
    else:
        server.add_insecure_port(address)
    server.start()
    print("ready", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
