package lifecycle

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// N7: a search finds a text in each part of a question that a person reads, whatever its case and
// its escapes in JSON, and in no other part.
func TestN7ASearchFindsWhatAPersonReads(t *testing.T) {
	run := withQuestion("order-7", interaction.Approval)
	run.Title = "Lamps for the hall"
	run.Labels = map[string]string{"team": "web"}
	q := &run.Open[0]
	q.Prompt, q.Context = "Shall I pay the mill?", "It delivers on Friday."
	q.Subject = &interaction.Subject{Tool: "bank.transfer", Title: "Pay", Risk: "It cannot be undone.",
		Arguments: []byte(`{"to":"M\u00fcller & Söhne","iban":"DE02 1203","say \"hi\"":9007199254740993}`)}
	for text, want := range map[string]int{
		"ORDER-7": 1, "lamps": 1, "the mill": 1, "friday": 1, "Bank.T": 1, "undone": 1, "de02 1203": 1, "müller": 1,
		"SÖHNE": 1, `say "hi"`: 1, "9007199254740993": 1, "web": 0, "nothing": 0, "": 1,
	} {
		s := &waitingPages{Store: newStore(t), pages: [][]Run{{run, withQuestion("other", interaction.Confirm)}}}
		page, err := clientOf(t, s).Inbox(t.Context(), InboxQuery{Text: text, Kinds: []Kind{interaction.Approval}})
		require.NoError(t, err)
		require.Len(t, page.Questions, want, text)
		require.Equal(t, min(len(text), 1), page.Searched, "%s: only questions of this inbox are searched", text)
	}
	_, err := clientOf(t, newStore(t)).Inbox(t.Context(), InboxQuery{Text: string(make([]byte, MaxSearchText+1))})
	var fault *ArgumentError
	require.ErrorAs(t, err, &fault)
}

// manyWaiting is a store with endlessly many runs that wait.
type manyWaiting struct {
	store.Store
	pause time.Duration // for each page
	pages int
}

func (s *manyWaiting) Waiting(_ context.Context, q store.WaitingQuery) (page Page, _ error) {
	time.Sleep(s.pause)
	s.pages++
	for i := range q.Limit {
		page.Runs = append(page.Runs, withQuestion(fmt.Sprintf("r-%d-%d", s.pages, i), interaction.Confirm))
	}
	page.Next = afterRun(&page.Runs[len(page.Runs)-1])
	return page, nil
}

// N7: a search stops after MaxInboxRead questions or MaxSearchTime, and says where it continues.
func TestN7ASearchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for pause, want := range map[time.Duration]int{0: MaxInboxRead, 90 * time.Millisecond: 101 + 202 + 1} {
			s := &manyWaiting{Store: newStore(t), pause: pause}
			page, err := clientOf(t, s).Inbox(t.Context(), InboxQuery{Text: "nothing has this"})
			require.NoError(t, err)
			require.Empty(t, page.Questions)
			require.Equal(t, want, page.Searched)
			require.NotEmpty(t, page.Next)
		}
	})
}
