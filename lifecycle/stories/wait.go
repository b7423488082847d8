package stories

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
)

// readWait parses a question's wait, "remind:1h,escalate:24h:finance,end:48h:fail": its steps and
// its end, each after that time. "join" escalates to an additional group;
// "end:1h:take_default:TEXT" has the default answer, or "reject" that decision.
func readWait(text string) (*interaction.Wait, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	wait := &interaction.Wait{}
	for part := range strings.SplitSeq(text, ",") {
		words := append(strings.SplitN(part, ":", 4), "", "", "")
		after, err := time.ParseDuration(words[1])
		if err != nil {
			return nil, err
		}
		switch words[0] {
		case "remind":
			wait.Steps = append(wait.Steps, interaction.WaitStep{Do: interaction.Remind, After: after})
		case "escalate", "join":
			wait.Steps = append(wait.Steps, interaction.WaitStep{Do: interaction.Escalate, After: after,
				Join: words[0] == "join", To: &interaction.Audience{Groups: []string{words[2]}}})
		case "end":
			wait.End, wait.Then = after, interaction.Then(words[2])
			if given := words[3]; given == string(interaction.Reject) {
				wait.Default = &interaction.DefaultReply{Decision: interaction.Reject, Text: "nobody was there"}
			} else if given != "" {
				wait.Default = &interaction.DefaultReply{Text: given}
			}
		default:
			return nil, fmt.Errorf("a wait has no %q", words[0])
		}
	}
	return wait, nil
}

// extend moves the end of a question's wait to a time after the beginning of the story.
func extend(w *world, a *args) (string, error) {
	question := value(a, a.words["QUESTION"], strconv.Atoi)
	until := w.start.Add(value(a, a.words["TIME"], time.ParseDuration))
	c := w.client(a.named["as"])
	if a.err != nil {
		return "", a.err
	}
	return w.call(c, a.flags["held"], func(ctx context.Context) string {
		if err := c.Extend(ctx, a.words["RUN"], question, until); err != nil {
			return formatError(err)
		}
		return fmt.Sprintf("extended question %d of %s\n", question, a.words["RUN"])
	})
}
