package render

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Kind is the kind of an Element.
type Kind string

// The kinds of elements. Blocks contain blocks or inline elements; Text, Break and Token have only text.
const (
	Paragraph Kind = "p"
	Heading   Kind = "h" // Number is the level, 1 to 6
	Quote     Kind = "quote"
	Bullets   Kind = "ul"
	Numbers   Kind = "ol"
	Item      Kind = "li"  // Text is the number as written, such as "3.", in Numbers
	Pre       Kind = "pre" // source code; Text is the language as written; contains Text and Token
	Table     Kind = "table"
	Row       Kind = "row"  // the first row of a table has the headings
	Cell      Kind = "cell" // Class is "left", "center", "right" or empty
	Rule      Kind = "hr"
	Source    Kind = "source" // text as written, with its line breaks

	Text     Kind = "text"
	Emphasis Kind = "em"
	Strong   Kind = "strong"
	Deleted  Kind = "del"
	Code     Kind = "code"
	Link     Kind = "link" // Address is a web or mail address; the children include it as text
	Break    Kind = "br"
	Token    Kind = "token" // Class is a class of Highlight
)

// Element is one element of a document.
type Element struct {
	Kind     Kind      `json:"kind"`
	Text     string    `json:"text,omitempty"`
	Class    string    `json:"class,omitempty"`
	Address  string    `json:"address,omitempty"`
	Number   int       `json:"number,omitempty"`
	Children []Element `json:"children,omitempty"`
}

// Limits of a parsed document. A document beyond them is one Source element.
const (
	MaxSource = 64 << 10 // bytes
	MaxLines  = 4096
	MaxDepth  = 16 // nested blocks and inline elements
)

// marks are the characters that a drawn document may lack.
const marks = "#*_~`>-+=|:\\[]()<!\"'"

// Markdown returns the document of a source in CommonMark with tables, strikethrough and addresses
// as links. Unlike CommonMark it draws HTML, reference definitions and entities as they are written.
func Markdown(source string) []Element {
	if source == "" {
		return nil
	}
	if len(source) > MaxSource || !utf8.ValidString(source) || busy(source) {
		return []Element{plain(source)}
	}
	b := &builder{source: []byte(source), colours: newColours()}
	document := markdown.Parse(text.NewReader(b.source))
	var nodes []Element
	// A block ends where the next one begins, so that whatever lies between is checked, too.
	var tops []ast.Node
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		tops = append(tops, n)
	}
	starts := b.starts(tops)
	for i, n := range tops {
		part := source[starts[i]:starts[i+1]]
		if drawn, ok := b.block(n, 0); ok && draws(part, drawn) {
			nodes = append(nodes, drawn)
		} else {
			nodes = append(nodes, plain(part))
		}
	}
	if len(tops) == 0 && strings.TrimSpace(source) != "" {
		return []Element{plain(source)}
	}
	return nodes
}

// work bounds the time of the parser, which grows with the square of the marks in a paragraph.
const work = 16 << 20

// busy reports whether a source is made to keep the parser busy: by many lines, by many nested
// blocks on a line, or by many marks in a paragraph.
func busy(source string) bool {
	if strings.Count(source, "\n") > MaxLines {
		return true
	}
	total, paragraph := 0, 0
	for line := range strings.Lines(source) {
		start := strings.TrimLeft(line, " \t>-+*0123456789.)")
		if len(line)-len(start) > 8*MaxDepth {
			return true
		}
		if strings.TrimSpace(line) == "" {
			paragraph = 0
			continue
		}
		before := paragraph
		for _, mark := range []string{"[", "]", "*", "_", "~", "`"} {
			paragraph += strings.Count(line, mark)
		}
		if total += paragraph*paragraph - before*before; total > work {
			return true
		}
	}
	return false
}

func plain(source string) Element {
	return Element{Kind: Source, Text: strings.TrimRight(source, "\n")}
}

var markdown = func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(items{parser.NewListItemParser()}, 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}()

// items keeps the number of each list item as it is written.
type items struct{ parser.BlockParser }

var numberKey = []byte("number")

func (p items) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, at := reader.PeekLine()
	n, state := p.BlockParser.Open(parent, reader, pc)
	if n != nil {
		marker := bytes.TrimLeft(line, " ")
		digits := 0
		for digits < len(marker) && marker[digits] >= '0' && marker[digits] <= '9' {
			digits++
		}
		if digits > 0 && digits < len(marker) {
			n.SetAttribute(numberKey, string(marker[:digits+1]))
		}
		n.SetPos(at.Start)
	}
	return n, state
}

type builder struct {
	source  []byte
	colours *colours
}

// starts returns where each block begins: at the start of the line on which the block before it can
// no longer be. The last value is the end of the source.
func (b *builder) starts(tops []ast.Node) []int {
	starts := make([]int, len(tops)+1)
	starts[len(tops)] = len(b.source)
	for i, n := range tops[min(1, len(tops)):] {
		at := max(b.first(n), starts[i])
		line := bytes.LastIndexByte(b.source[:at], '\n') + 1
		if _, fenced := n.(*ast.FencedCodeBlock); fenced && line > 0 && n.Pos() < 0 {
			line = bytes.LastIndexByte(b.source[:line-1], '\n') + 1
		}
		starts[i+1] = max(line, starts[i])
	}
	return starts
}

// first returns the position of the first character that n is known to contain.
func (b *builder) first(n ast.Node) int {
	at := len(b.source)
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if p := n.Pos(); p >= 0 {
			at = min(at, p)
		}
		if n.Type() != ast.TypeInline && n.Lines() != nil && n.Lines().Len() > 0 {
			at = min(at, n.Lines().At(0).Start)
		}
		return ast.WalkContinue, nil
	})
	return at
}

func (b *builder) block(n ast.Node, depth int) (Element, bool) {
	if depth > MaxDepth {
		return Element{}, false
	}
	var out Element
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		out.Kind = Paragraph
		return b.inlines(out, n, depth)
	case *ast.Heading:
		out = Element{Kind: Heading, Number: n.Level}
		return b.inlines(out, n, depth)
	case *ast.ThematicBreak:
		return Element{Kind: Rule}, true
	case *ast.CodeBlock:
		return Element{Kind: Pre, Children: b.colours.of("", b.lines(n))}, true
	case *ast.FencedCodeBlock:
		out.Kind = Pre
		if n.Info != nil {
			out.Text = string(n.Info.Segment.Value(b.source))
		}
		out.Children = b.colours.of(out.Text, b.lines(n))
		return out, true
	case *ast.Blockquote:
		out.Kind = Quote
	case *ast.List:
		out.Kind = Bullets
		if n.IsOrdered() {
			out.Kind = Numbers
		}
	case *ast.ListItem:
		out.Kind = Item
		if number, ok := n.Attribute(numberKey); ok {
			out.Text, _ = number.(string)
		}
	case *east.Table:
		out.Kind = Table
	case *east.TableHeader, *east.TableRow:
		out.Kind = Row
	case *east.TableCell:
		out.Kind = Cell
		if n.Alignment != east.AlignNone {
			out.Class = n.Alignment.String()
		}
		return b.inlines(out, n, depth)
	default:
		return Element{}, false
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		child, ok := b.block(c, depth+1)
		if !ok {
			return Element{}, false
		}
		out.Children = append(out.Children, child)
	}
	return out, true
}

func (b *builder) lines(n ast.Node) string {
	var s strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		s.Write(segment.Value(b.source))
	}
	return strings.TrimRight(s.String(), "\n")
}

func (b *builder) inlines(out Element, n ast.Node, depth int) (Element, bool) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		more, ok := b.inline(c, depth+1)
		if !ok {
			return Element{}, false
		}
		out.Children = append(out.Children, more...)
	}
	out.Children = joined(out.Children)
	return out, true
}

// joined joins adjacent texts, which the parser separates at each character that might be a mark.
func joined(nodes []Element) []Element {
	var out []Element
	for _, n := range nodes {
		if last := len(out) - 1; n.Kind == Text && last >= 0 && out[last].Kind == Text {
			out[last].Text += n.Text
		} else {
			out = append(out, n)
		}
	}
	return out
}

func (b *builder) inline(n ast.Node, depth int) ([]Element, bool) {
	if depth > MaxDepth {
		return nil, false
	}
	switch n := n.(type) {
	case *ast.Text:
		content := n.Segment.Value(b.source)
		if !n.IsRaw() {
			content = util.UnescapePunctuations(content)
		}
		out := []Element{{Kind: Text, Text: string(content)}}
		switch {
		case n.HardLineBreak():
			out = append(out, Element{Kind: Break})
		case n.SoftLineBreak():
			out[0].Text += "\n"
		}
		return out, true
	case *ast.String:
		return []Element{{Kind: Text, Text: string(n.Value)}}, true
	case *ast.CodeSpan:
		var s strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			t, ok := c.(*ast.Text)
			if !ok {
				return nil, false
			}
			s.Write(t.Segment.Value(b.source))
		}
		return []Element{{Kind: Code, Text: strings.ReplaceAll(s.String(), "\n", " ")}}, true
	case *ast.Emphasis:
		out := Element{Kind: Emphasis}
		if n.Level == 2 {
			out.Kind = Strong
		}
		out, ok := b.inlines(out, n, depth)
		return []Element{out}, ok
	case *east.Strikethrough:
		out, ok := b.inlines(Element{Kind: Deleted}, n, depth)
		return []Element{out}, ok
	case *ast.AutoLink:
		label := string(n.Label(b.source))
		shown := Element{Kind: Link, Children: []Element{{Kind: Text, Text: label}}}
		return []Element{link(string(n.URL(b.source)), shown)}, true
	case *ast.Link:
		out, ok := b.inlines(Element{Kind: Link}, n, depth)
		return b.named(out, "", n.Destination, n.Title), ok
	case *ast.Image:
		out, ok := b.inlines(Element{}, n, depth)
		children := append([]Element{{Kind: Text, Text: "!["}}, out.Children...)
		return append(children, b.named(Element{}, "]", n.Destination, n.Title)...), ok
	default:
		return nil, false
	}
}

// named returns a link, followed by its address and title where its text is not the address. With
// an end, it is a picture; its address is text.
func (b *builder) named(n Element, end string, destination, title []byte) []Element {
	address := string(destination)
	shown := end + "(" + address
	if len(title) > 0 {
		shown += " " + string(title)
	}
	shown += ")"
	if end != "" {
		return []Element{{Kind: Text, Text: shown}}
	}
	n.Children = joined(append(n.Children, Element{Kind: Text, Text: " " + shown}))
	return []Element{link(address, n)}
}

// link sets the address of a link, if it leads to a web page or to a mail program.
func link(address string, n Element) Element {
	if !strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf || r == 0x7f }) {
		for _, scheme := range []string{"https://", "http://", "mailto:"} {
			if len(address) > len(scheme) && strings.EqualFold(address[:len(scheme)], scheme) {
				n.Address = address
				return n
			}
		}
	}
	n.Kind = Emphasis // an address that is text has no link
	return n
}

// draws reports whether n contains every character of a source in order, apart from blanks and
// marks, and nothing that the source does not have.
func draws(source string, n Element) bool {
	drawn := appendText(make([]rune, 0, len(source)), n)
	i := 0
	for _, r := range source {
		switch {
		case unicode.IsSpace(r):
		case i < len(drawn) && drawn[i] == r:
			i++
		case !strings.ContainsRune(marks, r):
			return false
		}
	}
	return i == len(drawn)
}

func appendText(drawn []rune, n Element) []rune {
	for _, r := range n.Text {
		if !unicode.IsSpace(r) {
			drawn = append(drawn, r)
		}
	}
	for _, c := range n.Children {
		drawn = appendText(drawn, c)
	}
	return drawn
}
