// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/net/name_lookup.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/net/socket_address.h"

namespace waiter::cli {
namespace {

constexpr std::array<std::pair<std::string_view, ns_type>, 10> kTypes = {{
    {"A", ns_t_a},
    {"AAAA", ns_t_aaaa},
    {"CAA", static_cast<ns_type>(257)},  // glibc has no name for it.
    {"CNAME", ns_t_cname},
    {"MX", ns_t_mx},
    {"NS", ns_t_ns},
    {"PTR", ns_t_ptr},
    {"SOA", ns_t_soa},
    {"SRV", ns_t_srv},
    {"TXT", ns_t_txt},
}};

ns_type TypeNumber(std::string_view type) {
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(),
                   [&](const auto& known) { return known.first == type; });
  return found == kTypes.end() ? ns_t_invalid : found->second;
}

absl::Status NoAddress(int error, int system_error) {
  switch (error) {
    case EAI_NONAME:
    case EAI_NODATA:
    case EAI_ADDRFAMILY:
      return absl::NotFoundError(gai_strerror(error));
    case EAI_SYSTEM:
      return absl::UnavailableError(
          std::generic_category().message(system_error));
    default:
      return absl::UnavailableError(gai_strerror(error));
  }
}

NameAnswer LookUpAddresses(const NameQuestion& question) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = question.family == AddressFamily::kIpv4   ? AF_INET
                    : question.family == AddressFamily::kIpv6 ? AF_INET6
                                                              : AF_UNSPEC;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(question.name.c_str(), nullptr, &hints, &found);
  if (error != 0) return {.status = NoAddress(error, errno)};
  NameAnswer answer;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    SocketAddress address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    // Remove the port, which is 0.
    std::string text = address.ToString();
    text.resize(text.rfind(':'));
    if (std::find(answer.texts.begin(), answer.texts.end(), text) !=
        answer.texts.end()) {
      continue;
    }
    answer.addresses.push_back(address);
    answer.texts.push_back(std::move(text));
  }
  freeaddrinfo(found);
  return answer;
}

absl::Status Malformed() {
  return absl::UnavailableError("the DNS answer is malformed");
}

// Reads the values of one record. Each method appends one to `text`, and
// returns false if it is missing or malformed.
class RecordReader {
 public:
  RecordReader(const ns_msg& message, const ns_rr& record)
      : message_(message),
        at_(ns_rr_rdata(record)),
        end_(ns_rr_rdata(record) + ns_rr_rdlen(record)) {}

  // An integer of two bytes.
  bool AddNumber(std::string& text) {
    if (end_ - at_ < 2) return false;
    absl::StrAppend(&text, ns_get16(at_), " ");
    at_ += 2;
    return true;
  }

  // A name, which may be compressed.
  bool AddName(std::string& text) {
    std::array<char, NS_MAXDNAME> name;
    const int length =
        ns_name_uncompress(ns_msg_base(message_), ns_msg_end(message_), at_,
                           name.data(), name.size());
    if (length < 0) return false;
    at_ += length;
    absl::StrAppend(&text, name[0] == '\0' ? "." : name.data());
    return true;
  }

  bool AddAddress(int family, size_t size, std::string& text) {
    std::array<char, INET6_ADDRSTRLEN> address;
    if (static_cast<size_t>(end_ - at_) != size) return false;
    inet_ntop(family, at_, address.data(), address.size());
    absl::StrAppend(&text, address.data());
    return true;
  }

  // All strings up to the end.
  bool AddTexts(std::string& text) {
    while (at_ < end_) {
      const ptrdiff_t length = *at_++;
      if (length > end_ - at_) return false;
      text.append(at_, at_ + length);
      at_ += length;
    }
    return true;
  }

  // All remaining bytes.
  bool AddRest(std::string& text) {
    text.append(at_, end_);
    return true;
  }

 private:
  const ns_msg& message_;
  const unsigned char* at_;
  const unsigned char* end_;
};

bool AddRecord(RecordReader reader, ns_type type, std::string& text) {
  switch (type) {
    case ns_t_a:
      return reader.AddAddress(AF_INET, sizeof(in_addr), text);
    case ns_t_aaaa:
      return reader.AddAddress(AF_INET6, sizeof(in6_addr), text);
    case ns_t_mx:
      return reader.AddNumber(text) && reader.AddName(text);
    case ns_t_srv:
      return reader.AddNumber(text) && reader.AddNumber(text) &&
             reader.AddNumber(text) && reader.AddName(text);
    case ns_t_txt:
      return reader.AddTexts(text);
    case ns_t_cname:
    case ns_t_ns:
    case ns_t_ptr:
    case ns_t_soa:  // The first name, the server's, suffices.
      return reader.AddName(text);
    default:
      return reader.AddRest(text);
  }
}

// Owns the state of the system's resolver.
struct ResolverState {
  ResolverState() { ready = res_ninit(&state) == 0; }
  ~ResolverState() {
    if (ready) res_nclose(&state);
  }
  ResolverState(const ResolverState&) = delete;
  ResolverState& operator=(const ResolverState&) = delete;

  struct __res_state state = {};
  bool ready = false;
};

absl::Status NoRecords(int error, const std::string& type) {
  switch (error) {
    case HOST_NOT_FOUND:
      return absl::NotFoundError("no such name");
    case NO_DATA:
      return absl::NotFoundError(absl::StrCat("no ", type, " records"));
    case TRY_AGAIN:
      return absl::UnavailableError(
          "the name servers do not answer or have failed");
    default:
      return absl::UnavailableError("the name servers refuse to answer");
  }
}

NameAnswer LookUpRecords(const NameQuestion& question) {
  ResolverState resolver;
  if (!resolver.ready) {
    return {.status = absl::UnavailableError("cannot read /etc/resolv.conf")};
  }
  if (!question.server.empty()) {
    sockaddr_in& server = resolver.state.nsaddr_list[0];
    server = {};
    server.sin_family = AF_INET;
    server.sin_port = htons(question.server_port);
    if (inet_pton(AF_INET, question.server.c_str(), &server.sin_addr) != 1) {
      return {.status = absl::UnavailableError(absl::StrCat(
                  question.server, " is not the address of a name server"))};
    }
    resolver.state.nscount = 1;
  }
  std::string message(NS_MAXMSG, '\0');
  const auto ask = question.server.empty() ? res_nsearch : res_nquery;
  const int length = ask(&resolver.state, question.name.c_str(), ns_c_in,
                         TypeNumber(question.type),
                         reinterpret_cast<unsigned char*>(message.data()),
                         static_cast<int>(message.size()));
  if (length < 0) {
    return {.status = NoRecords(resolver.state.res_h_errno, question.type)};
  }
  message.resize(std::min(message.size(), static_cast<size_t>(length)));
  absl::StatusOr<std::vector<std::string>> records =
      ReadDnsAnswer(message, question.type);
  if (!records.ok()) return {.status = records.status()};
  if (records->empty()) return {.status = NoRecords(NO_DATA, question.type)};
  return {.texts = *std::move(records)};
}

}  // namespace

NameAnswer LookUpName(const NameQuestion& question) {
  return question.type.empty() ? LookUpAddresses(question)
                               : LookUpRecords(question);
}

absl::StatusOr<std::vector<std::string>> ReadDnsAnswer(std::string_view message,
                                                       std::string_view type) {
  ns_msg parsed;
  if (ns_initparse(reinterpret_cast<const unsigned char*>(message.data()),
                   static_cast<int>(message.size()), &parsed) != 0) {
    return Malformed();
  }
  const ns_type wanted = TypeNumber(type);
  std::vector<std::string> texts;
  for (int i = 0; i < ns_msg_count(parsed, ns_s_an); ++i) {
    ns_rr record;
    if (ns_parserr(&parsed, ns_s_an, i, &record) != 0) return Malformed();
    // The answer may contain aliases on the way.
    if (ns_rr_type(record) != wanted) continue;
    std::string text;
    if (!AddRecord(RecordReader(parsed, record), wanted, text)) {
      return Malformed();
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace waiter::cli
