//go:build tools

// Package tools names the programs, so that their modules stay in go.mod.
package tools

import (
	_ "github.com/buildbarn/bb-remote-execution/cmd/bb_runner"
	_ "github.com/buildbarn/bb-remote-execution/cmd/bb_scheduler"
	_ "github.com/buildbarn/bb-remote-execution/cmd/bb_worker"
	_ "github.com/buildbarn/bb-storage/cmd/bb_storage"
)
