package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
)

// weave puts all mutants of a package into its source text. A running program chooses one by its
// number; see package chosen.
type weave struct {
	src  *source
	info *types.Info
	ids  map[place]int // the numbers, from 1, of the mutants that compile
	in   map[int]bool  // the numbers of the woven ones

	file string
	cuts []cut // of the current file
}

// place identifies a mutant by its position and kind.
type place struct {
	file         string
	line, column int
	kind         string
}

// cut replaces a piece of a file. If the cuts of two nested nodes meet, the text of the outer node
// encloses the inner one's.
type cut struct {
	from, to int // bytes
	after    bool
	depth    int
	text     string
}

// newWeave prepares to weave in the mutants that compile.
func newWeave(src *source, all []mutant) (*weave, error) {
	w := &weave{src: src, info: &types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}, ids: make(map[place]int),
		in: make(map[int]bool)}
	for i, m := range all {
		if m.status != notViable {
			w.ids[place{m.file, m.line, m.column, m.kind}] = i + 1
		}
	}
	files := slices.Collect(maps.Values(src.files))
	config := types.Config{Importer: src.importer}
	_, err := config.Check(src.path, src.set, files, w.info)
	return w, err
}

// text returns the file's text with its mutants.
func (w *weave) text(name string, plain []byte) []byte {
	w.file, w.cuts = name, nil
	file := w.src.files[name]
	ast.Inspect(file, w.visit)
	if len(w.cuts) == 0 {
		return plain
	}
	end := w.offset(file.Name.End())
	w.cuts = append(w.cuts, cut{from: end, to: end, text: `; import "` + chosenPath(w.src.path) + `"`})
	slices.SortStableFunc(w.cuts, func(a, b cut) int {
		if c := cmp.Compare(a.from, b.from); c != 0 {
			return c
		}
		switch { // at the same offset, inner nodes end first and begin last
		case a.after != b.after && a.after:
			return -1
		case a.after != b.after:
			return 1
		case a.after:
			return cmp.Compare(b.depth, a.depth)
		}
		return cmp.Compare(a.depth, b.depth)
	})
	var text []byte
	at := 0
	for _, c := range w.cuts {
		text = append(append(text, plain[at:c.from]...), c.text...)
		at = c.to
	}
	return append(text, plain[at:]...)
}

func (w *weave) offset(p token.Pos) int { return w.src.set.Position(p).Offset }

// id returns the number of the mutant of a kind at the position, or 0.
func (w *weave) id(at token.Pos, kind string) int {
	p := w.src.set.Position(at)
	id := w.ids[place{w.file, p.Line, p.Column, kind}]
	if id > 0 {
		w.in[id] = true
	}
	return id
}

// wrap inserts a text before x and one after y, and replaces the operator with the text between, if
// there is one.
func (w *weave) wrap(x, y ast.Node, at token.Pos, op token.Token, before, between, behind string) {
	depth := len(w.cuts)
	w.cuts = append(w.cuts, cut{from: w.offset(x.Pos()), to: w.offset(x.Pos()), depth: depth, text: before},
		cut{from: w.offset(y.End()), to: w.offset(y.End()), after: true, depth: depth, text: behind})
	if between != "" {
		w.cuts = append(w.cuts, cut{from: w.offset(at), to: w.offset(at) + len(op.String()), depth: depth,
			text: between})
	}
}

var (
	orders = map[token.Token]string{token.LSS: "Less", token.LEQ: "LessEqual", token.GTR: "Greater",
		token.GEQ: "GreaterEqual"}
	arithmetic  = map[token.Token]string{token.ADD: "Add", token.MUL: "Mul", token.QUO: "Quo", token.REM: "Rem"}
	bitwise     = map[token.Token]string{token.AND: "BitAnd", token.OR: "BitOr", token.SHL: "Left", token.SHR: "Right"}
	assignments = map[token.Token]string{token.ADD_ASSIGN: "AddTo", token.SUB_ASSIGN: "SubFrom",
		token.QUO_ASSIGN: "QuoOf"}
	bitAssigned = map[token.Token]string{token.OR_ASSIGN: "OrInto", token.AND_ASSIGN: "AndInto"}
)

// visit weaves in the mutants of one node. Mutants that it does not know are tried with separate
// programs.
func (w *weave) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.ArrayType:
		return false // its length is a constant
	case *ast.FuncDecl:
		w.leaving(n)
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.SUB && w.integer(n) {
			w.wrap(n, n, n.OpPos, n.Op, fmt.Sprintf("chosen.Neg%s(%d, %d, ", w.typed(n, n.X),
				w.id(n.OpPos, "INVERT_NEGATIVES"), w.id(n.OpPos, "ARITHMETIC_BASE")), " ", ")")
		}
	case *ast.IncDecStmt:
		if w.addressable(n.X) {
			name := map[token.Token]string{token.INC: "Inc", token.DEC: "Dec"}[n.Tok]
			w.wrap(n.X, n.X, n.TokPos, n.Tok, fmt.Sprintf("chosen.%s(%d, &", name,
				w.id(n.TokPos, "INCREMENT_DECREMENT")), " ", ")")
		}
	case *ast.AssignStmt:
		w.assigned(n)
	case *ast.BranchStmt:
		other := map[token.Token]string{token.BREAK: "continue", token.CONTINUE: "break"}[n.Tok]
		if id := w.id(n.TokPos, "INVERT_LOOPCTRL"); id > 0 {
			if n.Label != nil {
				other += " " + n.Label.Name
			}
			w.wrap(n, n, n.TokPos, n.Tok, fmt.Sprintf("if chosen.On(%d) { %s }; ", id, other), "", "")
		}
	}
	return true
}

// leaving adds a panic after an endless loop at a function's end: with a mutant that leaves the
// loop, the function would not compile otherwise, because a return is missing.
func (w *weave) leaving(f *ast.FuncDecl) {
	if f.Body == nil || f.Type.Results == nil || len(f.Body.List) == 0 {
		return
	}
	if loop, ok := f.Body.List[len(f.Body.List)-1].(*ast.ForStmt); ok && loop.Cond == nil {
		at := w.offset(f.Body.Rbrace)
		w.cuts = append(w.cuts, cut{from: at, to: at, text: "panic(`left`)\n"})
	}
}

func (w *weave) binary(e *ast.BinaryExpr) {
	negated := func(inner string) string {
		return fmt.Sprintf("%s) != chosen.On(%d))", inner, w.id(e.OpPos, "CONDITIONALS_NEGATION"))
	}
	switch e.Op {
	case token.EQL, token.NEQ:
		w.wrap(e.X, e.Y, e.OpPos, e.Op, "((", "", negated(""))
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		w.wrap(e.X, e.Y, e.OpPos, e.Op, fmt.Sprintf("((chosen.%s(%d, ", orders[e.Op],
			w.id(e.OpPos, "CONDITIONALS_BOUNDARY")), ",", negated(")"))
	case token.LAND, token.LOR:
		name := map[token.Token]string{token.LAND: "And", token.LOR: "Or"}[e.Op]
		w.wrap(e.X, e.Y, e.OpPos, e.Op, fmt.Sprintf("chosen.%s(%d, ", name, w.id(e.OpPos, "INVERT_LOGICAL")),
			", func() bool { return (", ")})")
	case token.SUB:
		if w.integer(e) {
			w.wrap(e.X, e.Y, e.OpPos, e.Op, fmt.Sprintf("chosen.Sub%s(%d, %d, ", w.typed(e, e),
				w.id(e.OpPos, "ARITHMETIC_BASE"), w.id(e.OpPos, "INVERT_NEGATIVES")), ",", ")")
		}
	default:
		operand := ast.Expr(e)
		if e.Op == token.SHL || e.Op == token.SHR {
			operand = e.X
		}
		for kind, names := range map[string]map[token.Token]string{"ARITHMETIC_BASE": arithmetic,
			"INVERT_BITWISE": bitwise} {
			if name := names[e.Op]; name != "" && w.integer(e) {
				w.wrap(e.X, e.Y, e.OpPos, e.Op, fmt.Sprintf("chosen.%s%s(%d, ", name, w.typed(e, operand),
					w.id(e.OpPos, kind)), ",", ")")
			}
		}
	}
}

// typed returns the type argument that the call in place of an expression needs if the operand is a
// constant: an untyped constant takes its type from its context, and a call hides the context.
func (w *weave) typed(e, operand ast.Expr) string {
	if w.info.Types[operand].Value == nil {
		return ""
	}
	return "[" + types.TypeString(w.info.TypeOf(e), func(p *types.Package) string {
		if p.Path() == w.src.path {
			return ""
		}
		return p.Name()
	}) + "]"
}

func (w *weave) assigned(s *ast.AssignStmt) {
	for kind, names := range map[string]map[token.Token]string{"INVERT_ASSIGNMENTS": assignments,
		"INVERT_BWASSIGN": bitAssigned} {
		if name := names[s.Tok]; name != "" && w.integer(s.Lhs[0]) && w.addressable(s.Lhs[0]) {
			w.wrap(s.Lhs[0], s.Rhs[0], s.TokPos, s.Tok,
				fmt.Sprintf("chosen.%s(%d, %d, &", name, w.id(s.TokPos, kind),
					w.id(s.TokPos, "REMOVE_SELF_ASSIGNMENTS")), ",", ")")
		}
	}
}

// integer reports whether the expression is an integer with a type: a call gives its operands one,
// so that a constant without a type, which is part of another constant, cannot become a call.
func (w *weave) integer(e ast.Expr) bool {
	t := w.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0 && b.Info()&types.IsUntyped == 0
}

// addressable reports whether the operand's address can be taken: an element of a map has none.
func (w *weave) addressable(e ast.Expr) bool {
	index, ok := e.(*ast.IndexExpr)
	if !ok {
		return w.integer(e)
	}
	_, inMap := w.info.TypeOf(index.X).Underlying().(*types.Map)
	return !inMap
}

// chosenPath is the import path of package chosen in the copy: a folder that the whole module of
// the package may import.
func chosenPath(pkg string) string { return pkg + "/internal/chosen" }

// woven returns the files of the package with their mutants, and package chosen, by file name.
func (w *weave) woven(read func(string) ([]byte, error)) (map[string][]byte, error) {
	all := map[string][]byte{filepath.Join(w.src.dir, "internal", "chosen", "chosen.go"): []byte(chosenText)}
	for _, name := range w.src.names {
		plain, err := read(filepath.Join(w.src.dir, name))
		if err != nil {
			return nil, err
		}
		if text := w.text(name, plain); !bytes.Equal(text, plain) {
			all[filepath.Join(w.src.dir, name)] = text
		}
	}
	return all, nil
}
