package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What Kafka's own records say, as text: names and values in the order of Kafka's schemas,
// on as many lines as 100 columns take.
//
//	offset 3  2026-11-30T02:11:28.179Z  OffsetCommit group grp-gone, topic clicks, partition 0:
//	  offset 9, leaderEpoch -1, metadata "to be deleted", commitTimestamp 2026-11-30T02:11:28.179Z

const (
	textColumns     = 100
	decodedIndent   = "          "
	maxDecodedLines = 8   // without Full
	maxDecodedText  = 100 // bytes of one string, without Full
)

// decoded appends what a record says, and its line feeds, behind the beginning of a line.
func (t *dumpText) decoded(b []byte, d *Decoded) []byte {
	column := utf8.RuneCount(b)
	put := func(word string) {
		b = append(b, word...)
		column += utf8.RuneCountInString(word)
	}
	switch {
	case d.Type == "" && d.TypeID < 0:
		put("unknown type")
	case d.Type == "":
		put("unknown type " + strconv.FormatInt(d.TypeID, 10))
	default:
		put(Escape(d.Type))
	}
	if d.State != "" {
		put(" " + d.State)
	}
	lines := 1
	flow := func(words []string) {
		if lines > maxDecodedLines && !t.opt.Full {
			return
		}
		for _, w := range words {
			if column+1+utf8.RuneCountInString(w) > textColumns && column > len(decodedIndent) {
				if lines++; lines > maxDecodedLines && !t.opt.Full {
					return
				}
				b = append(b, "\n"+decodedIndent...)
				column = len(decodedIndent)
			} else {
				put(" ")
			}
			put(w)
		}
	}
	key, value := t.words(d.Key), t.words(d.Value)
	if n := len(key); n > 0 && len(value) > 0 {
		key[n-1] += ":"
	}
	flow(key)
	if d.Tombstone {
		flow([]string{"(deleted)"})
	}
	flow(value)
	if lines > maxDecodedLines && !t.opt.Full {
		b = append(b, "\n"+decodedIndent+"… (--full shows all)"...)
	}
	return b
}

// words takes a JSON object apart into words between which a line may end. What is no JSON
// has none.
func (t *dumpText) words(object json.RawMessage) []string {
	if len(object) == 0 {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(object))
	in.UseNumber()
	w := wordReader{in: in, max: t.limit(maxDecodedText)}
	if tok, err := in.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	w.object()
	return w.words
}

// wordReader makes words of JSON tokens.
type wordReader struct {
	in    *json.Decoder
	max   int
	words []string
}

// add appends text to the last word, or begins one.
func (w *wordReader) add(s string, begin bool) {
	if begin || len(w.words) == 0 {
		w.words = append(w.words, s)
		return
	}
	w.words[len(w.words)-1] += s
}

// object reads the fields behind "{", and the "}".
func (w *wordReader) object() {
	for first := true; ; first = false {
		tok, err := w.in.Token()
		name, isName := tok.(string)
		if err != nil || !isName {
			return // "}"
		}
		if !first {
			w.add(",", false)
		}
		// The first field of an element stands behind its brace.
		w.add(name+" ", !first || len(w.words) == 0)
		w.value(name)
	}
}

func (w *wordReader) value(name string) {
	tok, err := w.in.Token()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			w.add("?", false)
		}
		return
	}
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			w.add("{", false)
			w.object()
			w.add("}", false)
			return
		}
		w.add("[", false)
		for first := true; w.in.More(); first = false {
			if !first {
				w.add(",", false)
				w.words = append(w.words, "")
			}
			w.value(name)
		}
		_, _ = w.in.Token() // "]"
		w.add("]", false)
	case string:
		w.add(w.text(v), false)
	case json.Number:
		w.add(numberWord(name, v), false)
	case bool:
		w.add(strconv.FormatBool(v), false)
	default:
		w.add("null", false)
	}
}

// numberWord shows times as such: Kafka's names for them end alike.
func numberWord(name string, n json.Number) string {
	if strings.HasSuffix(name, "imestamp") || strings.HasSuffix(name, "imestampMs") {
		if ms, err := n.Int64(); err == nil && ms > 0 {
			return dumpTime(ms)
		}
	}
	return n.String()
}

// text shows a name as it is, and any other string in quotes.
func (w *wordReader) text(s string) string {
	if s != "" && s != "null" && len(s) <= maxDecodedText && strings.Trim(s, nameBytes) == "" {
		return s
	}
	return ValueText.Show([]byte(s), w.max)
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
