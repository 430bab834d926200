// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Passes if its libraries compile: for each public header they have one file,
// which includes only that header (tools/public_headers.bzl).

int main() { return 0; }
