//go:build tools

// Package tools names the commands that are built from this module, so that go.mod keeps what they need.
package tools

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
