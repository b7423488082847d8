package flow

import (
	"context"

	"github.com/interlude-go/interlude/engine"
)

// Files is engine.Turn.Files as a step: it describes files below the run's folder artifacts, for
// the Files of a question, and stores the description in the journal. The folder's path is
// Ctx.Artifacts. A file that changes after the step is no longer served to people.
func Files(c *Ctx, name string, paths ...string) (*engine.Files, error) {
	return Step(c, name, func(context.Context) (*engine.Files, error) {
		return engine.Turn{ArtifactDir: c.run.artifacts}.Files(paths...)
	})
}

// Artifacts is the run's folder for files that people see (engine.Turn.ArtifactDir); empty if the
// run has no folders.
func (c *Ctx) Artifacts() string { return c.run.artifacts }
