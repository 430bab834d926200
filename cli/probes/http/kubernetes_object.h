// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks an API server of Kubernetes for a condition of an object:
//
//   const absl::StatusOr<waiter::cli::KubernetesObject> object =
//       waiter::cli::KubernetesObject::Parse("pod/web", "Ready");
//   client.Start({.url = access.server + object->Path("default")}, ...);
//   done(waiter::cli::JudgeKubernetesObject(*object, answer, now));
//
// | answer                                      | poll                        |
// | ------------------------------------------- | --------------------------- |
// | the condition has the wanted status         | success                     |
// | another status, no such condition, or one   | not ready                   |
// | of an older generation of the object        |                             |
// | a pod that has ended, or a job that failed, | failed                      |
// | unless that was asked for                   |                             |
// | no such object (404)                        | not ready, and absent       |
// | 401, 403                                    | failed                      |
// | an answer that is not of an API server      | server error                |
// | another status of HTTP, or no answer        | as `JudgeHttp` says         |

#ifndef WAITER_CLI_PROBES_HTTP_KUBERNETES_OBJECT_H_
#define WAITER_CLI_PROBES_HTTP_KUBERNETES_OBJECT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

struct KubernetesObject {
  // Parses KIND/NAME and CONDITION[=STATUS]; an empty condition is the usual
  // one of the kind. KIND is one that kubectl knows, such as pod, po or
  // deployments, or PLURAL.VERSION.GROUP for any other. kInvalidArgument names
  // the error.
  static absl::StatusOr<KubernetesObject> Parse(std::string_view kind_and_name,
                                                std::string_view condition);

  // Returns the path of the object, which is in `namespace_name` if objects of
  // its kind are in one. A URL takes it as it is.
  std::string Path(std::string_view namespace_name) const;

  std::string api;     // Such as /api/v1 or /apis/apps/v1.
  std::string plural;  // Such as pods.
  std::string name;
  bool is_namespaced = true;
  std::string condition;  // Case does not matter.
  std::string status;     // Case does not matter.
};

// Returns whether `text` is a name that an object or a namespace may have.
bool IsKubernetesName(std::string_view text);

// Judges `answer`, which may be hostile and came at `now`. Has no side effects.
Finding JudgeKubernetesObject(const KubernetesObject& object,
                              const HttpAnswer& answer, absl::Time now);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_KUBERNETES_OBJECT_H_
