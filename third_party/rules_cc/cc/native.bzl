# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""Gives other names to parts of Bazel, because a file cannot define a name that it uses."""

native_cc_info = CcInfo  # buildifier: disable=native-cc-info
