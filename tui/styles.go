package tui

import (
	"os"

	"kafsck/finding"
)

// level is how bad something is. It has a letter as well as a colour.
type level uint8

// The levels, from nothing to worst; the middle four are finding's severities.
const (
	levelNone    level = iota // nothing known, or nothing to say
	levelOK                   // looked at, nothing found
	levelNote                 // explained, harmless
	levelWarning              // worth a look
	levelDamage               // wrong bytes
	levelLoss                 // records are gone
	levelUnread               // could not be read: nothing is known
	levels
)

// levelOf is the level of a finding's severity.
func levelOf(s finding.Severity) level { return levelNote + level(min(s, finding.Loss)) }

// symbol is the letter that stands for a level: one cell wide.
func (l level) symbol() string {
	return [levels]string{" ", "·", "n", "!", "D", "L", "E"}[l]
}

// word is the level in words.
func (l level) word() string {
	return [levels]string{"", "ok", "note", "warning", "damage", "loss", "not read"}[l]
}

// fault reports whether "only faults" shows it.
func (l level) fault() bool { return l >= levelWarning }

// styles are the looks of everything, handed down to every view. Colours are the 16
// of the terminal itself, so that they fit its background; what is selected is also
// marked by reverse video or a sign, and levels by their letters.
type styles struct {
	name     string
	text     look
	dim      look // less important
	strong   look
	header   look // head of a table
	bar      look // top line
	badge    look // READ-ONLY
	selected look // the row under the cursor
	cell     look // the cell under the cursor, in that row
	marked   look
	key      look // a key in a help line
	hot      look // what lights up because something else is selected
	match    look
	levels   [levels]look
	// epochs are told apart by these, in turn; neighbours also by their numbers.
	epochs []look
}

// level is the look of a level.
func (s *styles) level(l level) look { return s.levels[l] }

// epoch is the look of a leader epoch.
func (s *styles) epoch(e int32) look {
	n := int32(len(s.epochs))
	return s.epochs[(e%n+n)%n]
}

// stylesOf makes the styles named dark, light or plain.
func stylesOf(name string) (*styles, bool) {
	plain := name == "plain"
	at := func(color int) look {
		if plain {
			return look{}
		}
		return look{color: color + 1}
	}
	st := &styles{name: name, text: look{}}
	st.dim = look{}.Faint(true)
	st.strong = look{}.Bold(true)
	st.selected = look{}.Reverse(true)
	st.cell = look{}.Reverse(true).Bold(true).Underline(true)
	var palette struct{ bar, head, mark, key, hot, match, note, warning, damage, loss, unread, ok int }
	switch name {
	case "dark":
		palette.bar, palette.head, palette.mark, palette.key = 14, 14, 11, 14
		palette.hot, palette.match = 11, 11
		palette.ok, palette.note, palette.warning, palette.damage, palette.loss, palette.unread = 10, 12, 11, 13, 9, 9
		st.epochs = []look{at(10), at(14), at(13), at(11), at(12), at(15)}
	case "light":
		palette.bar, palette.head, palette.mark, palette.key = 4, 4, 5, 4
		palette.hot, palette.match = 5, 5
		palette.ok, palette.note, palette.warning, palette.damage, palette.loss, palette.unread = 2, 4, 3, 5, 1, 1
		st.epochs = []look{at(2), at(4), at(5), at(6), at(1), at(0)}
	case "plain":
		st.epochs = []look{look{}, look{}.Bold(true)}
	default:
		return nil, false
	}
	st.bar = at(palette.bar).Bold(true)
	st.badge = look{}.Reverse(true).Bold(true)
	st.header = at(palette.head).Bold(true)
	st.marked = at(palette.mark).Bold(true)
	st.key = at(palette.key).Bold(true)
	st.hot = at(palette.hot).Reverse(true)
	st.match = at(palette.match).Underline(true)
	st.levels = [levels]look{
		look{}, at(palette.ok), at(palette.note), at(palette.warning),
		at(palette.damage).Bold(true), at(palette.loss).Bold(true), at(palette.unread).Bold(true).Underline(true),
	}
	return st, true
}

// chooseStyles picks what fits the environment: no colour with NO_COLOR
// (no-color.org) or a terminal that has none; light where COLORFGBG ("foreground;
// background", set by rxvt, Konsole and others) says so. The terminal is not asked: the
// first frame must not wait for an answer. ":theme" changes it.
func chooseStyles(term string) *styles {
	name := "dark"
	switch bg := os.Getenv("COLORFGBG"); {
	case os.Getenv("NO_COLOR") != "" || term == "dumb" || term == "":
		name = "plain"
	case len(bg) > 1 && bg[len(bg)-2] == ';' && (bg[len(bg)-1] == '7'), len(bg) > 2 && bg[len(bg)-3:] == ";15":
		name = "light"
	}
	st, _ := stylesOf(name)
	return st
}
