// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/kubernetes_object.h"

#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/kubernetes_access.h"
#include "cli/probes/probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/status_matchers.h"
#include "waiter/poll.h"

namespace waiter::cli::kubernetes_object_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Finding Judge(std::string_view object, std::string_view condition,
              std::string_view body, int status = 200) {
  HttpAnswer answer;
  answer.status = status;
  answer.reason = "Reason";
  answer.body = std::string(body);
  return JudgeKubernetesObject(*KubernetesObject::Parse(object, condition),
                               answer, absl::UnixEpoch());
}

TEST(KubernetesObjectTest, KindNamesThePath) {
  for (const auto& [object, path] :
       std::vector<std::pair<std::string_view, std::string_view>>{
           {"pod/web", "/api/v1/namespaces/ns/pods/web"},
           {"PO/web.0", "/api/v1/namespaces/ns/pods/web.0"},
           {"nodes/a", "/api/v1/nodes/a"},
           {"deployment/web", "/apis/apps/v1/namespaces/ns/deployments/web"},
           {"job/a", "/apis/batch/v1/namespaces/ns/jobs/a"},
           {"crd/a.b.io",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b.io"},
           {"certificates.v1.cert-manager.io/tls",
            "/apis/cert-manager.io/v1/namespaces/ns/certificates/tls"}}) {
    const auto parsed = ValueOrFail(KubernetesObject::Parse(object, "Ready"));
    EXPECT_EQ(parsed.Path("ns"), path);
  }
  EXPECT_EQ(KubernetesObject::Parse("job/a", "")->condition, "Complete");
  EXPECT_EQ(KubernetesObject::Parse("pod/a", "Ready=Unknown")->status,
            "Unknown");
}

TEST(KubernetesObjectTest, NameThatAUrlDoesNotTakeIsRefused) {
  for (const std::string_view name :
       {"pod/", "pod", "pod/a/b", "pod/a?b", "pod/..", "pod/a%2fb", "pod/-a",
        "pods.v1./a", "p/d.v1.x/a", "a b.v1.c/d", ".v1.c/d"}) {
    EXPECT_EQ(KubernetesObject::Parse(name, "Ready").status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
}

struct Row {
  std::string_view object;
  std::string_view condition;
  std::string_view body;
  PollStatus status;
  std::string_view detail;
  int http = 200;
  bool absent = false;
};

constexpr std::string_view kUnready =
    R"({"kind":"Pod","status":{"phase":"Pending","conditions":[
        {"type":"Ready","status":"False","reason":"ContainersNotReady",
         "message":"containers with unready status: [web]"}]}})";

TEST(KubernetesObjectTest, EachAnswerHasItsClass) {
  constexpr PollStatus kNotReady = PollStatus::kNotReady;
  constexpr PollStatus kFailed = PollStatus::kFailed;
  for (const Row& row : std::vector<Row>{
           {"pod/web", "", kUnready, kNotReady,
            "Ready is False: ContainersNotReady: containers with unready "
            "status: [web]"},
           {"pod/web", "ready=false", kUnready, PollStatus::kSuccess,
            "Ready is False"},
           {"pod/web", "Initialized", kUnready, kNotReady,
            "no condition Initialized yet"},
           {"pod/web", "", R"({"kind":"Pod"})", kNotReady,
            "no condition Ready yet"},
           {"pod/web", "", R"({"kind":"Pod","status":{"phase":"Succeeded"}})",
            kFailed, "the pod has ended: Succeeded"},
           {"pod/web", "succeeded",
            R"({"kind":"Pod","status":{"phase":"Succeeded"}})",
            PollStatus::kSuccess, "the pod's phase is Succeeded"},
           {"pod/web", "Succeeded",
            R"({"kind":"Pod","status":{"phase":"Failed"}})", kFailed,
            "the pod's phase is Failed"},
           {"pod/web", "Succeeded", kUnready, kNotReady, "the pod's phase is "},
           {"deploy/web", "",
            R"({"kind":"Deployment","metadata":{"generation":2},"status":{
                "observedGeneration":1,"conditions":[
                {"type":"Available","status":"True"}]}})",
            kNotReady, "Available is True, for an older generation"},
           {"job/a", "",
            R"({"kind":"Job","status":{"conditions":[
                {"type":"Failed","status":"True","message":"too often"}]}})",
            kFailed, "the job has failed: too often"},
           {"job/a", "Failed",
            R"({"kind":"Job","status":{"conditions":[
                {"type":"Failed","status":"True"}]}})",
            PollStatus::kSuccess, "Failed is True"},
           {"pod/web", "",
            R"({"kind":"Status","message":"pods \"web\" not found"})",
            kNotReady, "pods \"web\" not found", 404, true},
           {"pod/web", "", R"({"kind":"Status","message":"forbidden"})",
            kFailed, "HTTP 403: forbidden", 403},
           {"pod/web", "", R"({"kind":"Status","message":"no"})", kFailed,
            "HTTP 401: no", 401},
           {"pod/web", "", "<html>", PollStatus::kServerError,
            "not a response from an API server", 404},
           {"pod/web", "", R"({"kind":1})", PollStatus::kServerError,
            "not a response from an API server"},
           {"pod/web", "", "{}", PollStatus::kThrottled, "HTTP 429", 429},
           {"pod/web", "", "{}", PollStatus::kServerError, "HTTP 500", 500},
           {"pod/web", "",
            R"({"kind":"Pod","status":{"conditions":{"type":"Ready"}}})",
            kNotReady, "no condition Ready yet"},
       }) {
    SCOPED_TRACE(absl::StrCat(row.http, " ", row.body));
    const Finding found = Judge(row.object, row.condition, row.body, row.http);
    EXPECT_EQ(found.status, row.status);
    EXPECT_THAT(found.detail, HasSubstr(std::string(row.detail)));
    EXPECT_EQ(found.absent, row.absent);
  }
}

class KubernetesAccessTest : public FolderFixture {
 protected:
  // Writes a kubeconfig with members of its cluster and its user.
  std::string WriteConfig(std::string_view cluster,
                          std::string_view user) const {
    return Write("config",
                 absl::StrCat(R"({"current-context":"c","contexts":[
      {"name":"other","context":{}},
      {"name":"c","context":{"cluster":"k","user":"u"}}],
      "clusters":[{"name":"k","cluster":{)",
                              cluster, R"(}}],"users":[{"name":"u","user":{)",
                              user, "}}]}"));
  }
};

TEST_F(KubernetesAccessTest, PodUsesItsServiceAccount) {
  Write("token", "abc\n");
  Write("ca.crt", "PEM");
  Write("namespace", "apps");
  const auto access =
      ValueOrFail(ReadKubernetesAccess({.service_host = "fd00::1",
                                        .service_port = "6443",
                                        .service_account = folder()}));
  EXPECT_EQ(access.server, "https://[fd00::1]:6443");
  EXPECT_EQ(access.default_namespace, "apps");
  EXPECT_EQ(access.options.ca_file, Path("ca.crt"));
  ASSERT_EQ(access.options.headers.size(), 1u);
  EXPECT_EQ(access.options.headers[0].second, "Bearer abc");
}

TEST_F(KubernetesAccessTest, KubeconfigHasATokenOrAClientCertificate) {
  Write("key.pem", "KEY");
  const auto access = ValueOrFail(ReadKubernetesAccess(
      {.kubeconfig = WriteConfig(
           R"("server":"https://k:6443/","certificate-authority-data":"Q0E=")",
           R"("client-certificate-data":"Q0VSVA==","client-key":"key.pem")"),
       .service_host = "10.0.0.1"}));
  EXPECT_EQ(access.server, "https://k:6443");
  EXPECT_EQ(access.default_namespace, "default");
  EXPECT_TRUE(access.options.verify);
  EXPECT_EQ(access.options.ca_pem, "CA");
  EXPECT_EQ(access.options.client_certificate_pem, "CERT");
  EXPECT_EQ(access.options.client_key_pem, "KEY");
  EXPECT_TRUE(access.options.headers.empty());

  const std::string token = Write("token", "abc\n");
  const auto other = ValueOrFail(ReadKubernetesAccess(
      {.kubeconfig = WriteConfig(
           R"("server":"https://k","insecure-skip-tls-verify":true)",
           absl::StrCat(R"("tokenFile":")", token, "\""))}));
  EXPECT_FALSE(other.options.verify);
  EXPECT_EQ(other.options.headers[0].second, "Bearer abc");
}

TEST_F(KubernetesAccessTest, ErrorNamesTheFileAndShowsNoSecret) {
  struct Case {
    std::string config;
    std::string_view error;
  };
  const std::string kServer = R"("server":"https://k")";
  for (const Case& row :
       std::vector<Case>{{Write("yaml", "apiVersion: v1\nkind: Config\n"),
                          "yaml: not JSON; write it with kubectl config view"},
                         {Write("empty", "{}"), "empty: no context"},
                         {Path("missing"), "/missing: "}}) {
    const auto access = ReadKubernetesAccess({.kubeconfig = row.config});
    EXPECT_THAT(std::string(access.status().message()),
                HasSubstr(std::string(row.error)));
  }
  for (const auto& [cluster, user, error] :
       std::vector<std::array<std::string, 3>>{
           {R"("server":"k:6443")", "", "server must begin with https://"},
           {kServer + R"(,"proxy-url":"http://p")", "", "proxy-url is not"},
           {kServer, R"("exec":{"command":"aws"})", "exec is not supported"},
           {kServer, R"("token":"secret word")", "the token is empty, or has"},
           {kServer, R"("client-key-data":"secret!")", "is not base64"}}) {
    const auto access =
        ReadKubernetesAccess({.kubeconfig = WriteConfig(cluster, user)});
    const std::string message(access.status().message());
    EXPECT_THAT(message, HasSubstr(error));
    EXPECT_THAT(message, HasSubstr("/config: "));
    EXPECT_THAT(message, Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace waiter::cli::kubernetes_object_test
