package store

import (
	"slices"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/plainjson"
)

// known are the words that records repeat.
var known = func() plainjson.Words {
	words := plainjson.Words{}
	plainjson.Learn(words, fsm.ContractVersion, interaction.SourceAutoDecide, interaction.ReasonUserNoReply)
	plainjson.Learn(words, fsm.States()...)
	plainjson.Learn(words, fsm.Modes()...)
	plainjson.Learn(words, fsm.Profiles()...)
	plainjson.Learn(words, fsm.Codes()...)
	plainjson.Learn(words, fsm.Warnings()...)
	plainjson.Learn(words, RecoveryNone, RecoveredWaiting, FailedReconciled)
	plainjson.Learn(words, interaction.ChooseOne, interaction.Confirm, interaction.FillFields, interaction.OpenText,
		interaction.RiskAck)
	plainjson.Learn(words, interaction.EngineJudgement, interaction.SafeDefault, interaction.Abort)
	plainjson.Learn(words, interaction.UserReply, interaction.AutoDecideTimeout, interaction.Abandoned)
	return words
}()

// word reads one of the contract's words.
func word[T ~string](s *scanner, name string, into *T) { plainjson.Word(&s.Scanner, name, into) }

func words[T ~string](s *scanner, name string, into *[]T) {
	if !s.Member(name) {
		return
	}
	var few [4]T
	list := few[:0]
	s.Need(`[`)
	for more := s.Going(); more; more = s.Member(`,`) {
		list = append(list, T(s.AWord()))
	}
	s.Need(`]`)
	*into = slices.Clone(list)
}

func textsIf[T ~string](w *writer, name string, v []T) {
	if len(v) == 0 {
		return
	}
	w.Put(name)
	before := byte('[')
	for _, s := range v {
		w.Buf = plainjson.AppendText(append(w.Buf, before), string(s))
		before = ','
	}
	w.Put(`]`)
}
