package store

import (
	"strings"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// known are the words that records repeat; they are taken from here instead of being allocated again.
var known = func() map[string]string {
	words := map[string]string{}
	learn(words, fsm.ContractVersion, interaction.SourceAutoDecide, interaction.ReasonUserNoReply)
	learn(words, fsm.States()...)
	learn(words, fsm.Modes()...)
	learn(words, fsm.Profiles()...)
	learn(words, fsm.Codes()...)
	learn(words, fsm.Warnings()...)
	learn(words, RecoveryNone, RecoveredWaiting, FailedReconciled)
	learn(words, interaction.ChooseOne, interaction.Confirm, interaction.FillFields, interaction.OpenText, interaction.RiskAck)
	learn(words, interaction.EngineJudgement, interaction.SafeDefault, interaction.Abort)
	learn(words, interaction.UserReply, interaction.AutoDecideTimeout, interaction.Abandoned)
	return words
}()

func learn[T ~string](into map[string]string, words ...T) {
	for _, w := range words {
		into[string(w)] = string(w)
	}
}

const (
	// shortText is the length up to which texts share memory, in bytes.
	shortText = 64
	// sharedTexts is how much they share, in bytes: what a short text that outlives its record can hold back.
	sharedTexts = 128
)

// word reads a text that is probably known.
func (s *scanner) word() string {
	text, escaped := s.quoted()
	if w, ok := known[string(text)]; ok && !escaped {
		return w
	}
	return s.keep(text, escaped)
}

// value reads a text into memory that it may share with others of its record.
func (s *scanner) value() string {
	text, escaped := s.quoted()
	return s.keep(text, escaped)
}

// ownText reads a text into its own memory.
func (s *scanner) ownText() string {
	text, escaped := s.quoted()
	if escaped {
		return strings.Clone(s.keep(text, escaped))
	}
	return string(text)
}

func (s *scanner) keep(text []byte, escaped bool) string {
	if !escaped && len(text) > shortText {
		return string(text)
	}
	b := s.room(len(text))
	first := b.Len()
	if escaped {
		s.unescape(b, text)
	} else {
		b.Write(text)
	}
	return b.String()[first:]
}

// room is where a text of at most n bytes can be put without moving what stands there.
func (s *scanner) room(n int) *strings.Builder {
	if n > shortText {
		b := new(strings.Builder)
		b.Grow(n)
		return b
	}
	if s.short.Cap()-s.short.Len() < n {
		s.short = strings.Builder{}
		s.short.Grow(sharedTexts)
	}
	return &s.short
}
