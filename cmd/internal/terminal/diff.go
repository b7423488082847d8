package terminal

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/host/render"
)

// Diff shows the lines that turn one text into another, marked by - and +, between equal ones. Both
// texts are safe already (Value).
func Diff(before, after string) string {
	var b strings.Builder
	for _, line := range render.Diff(before+"\n", after+"\n") {
		mark := map[render.Change]string{render.Same: "  ", render.Removed: "- ", render.Added: "+ "}[line.Change]
		if line.Change == render.Skipped {
			fmt.Fprintf(&b, "  … %s\n", Many(line.Before, "equal line"))
			continue
		}
		b.WriteString(mark)
		for _, part := range line.Parts {
			b.WriteString(strings.TrimSuffix(part.Text, "\n"))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
