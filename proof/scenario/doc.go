// Package scenario replays stories that people should read: lifecycles, races and recoveries, told
// in text files.
//
// There is a folder of them for each section of the requirements, testdata/a to testdata/i. A
// story's first line names the requirements that it stands for. Each is played on memory, SQLite
// and PostgreSQL, and must read the same, letter by letter, on all of them. At its end every event
// log that it leaves is held against the contract (audit.Check), nothing may hold a slot that
// has ended, and no line of an agent's script may be left unread.
//
// The form is that of github.com/cockroachdb/datadriven: a command, what belongs to it, four
// dashes, and what it tells, up to an empty line.
//
//	submit paint
//	ask "Which colour?"
//	done "Painted it."
//	----
//	paint: queued slot=no
//
// README.md lists the commands. Time is fake: it stands still but for advance. What a command
// brings about, it tells.
package scenario
