package agents

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
)

// writeSettings writes settings into the home, unless the host (for example by Options.Seed) or an
// earlier turn has written them.
func (h *home) writeSettings(settings any, path ...string) error {
	name := filepath.Join(path...)
	if _, err := h.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	body, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return err
	}
	return h.write(name, append(body, '\n'))
}

// Agents that split arguments at commas get the artifact folder through a variable named in their
// settings.
const (
	artifactsVariable = "INTERLUDE_ARTIFACTS"
	artifacts         = "$" + artifactsVariable
)

type object = map[string]any
