package apply

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/logtest"
	"kafsck/repair"
)

// TestSalvageOfWrongOffsets: no checksum covers the offset of a batch or a message. What something bears
// out stays, what is denied or borne out by nothing goes to lost+found, and the gap list says so.
func TestSalvageOfWrongOffsets(t *testing.T) {
	// Ten messages of format 1 and ten batches, offsets 0 to 9.
	const messages, batches = "message magic=1 count=10", "batch ; batch ; batch ; batch ; batch ; batch ; batch ; batch ; batch ; batch"
	one := func(log string) string { return "broker 1 clusterid=c ; topic t-0 ; segment 0\n" + log + "\n" }
	two := func(a, b string) string { return one(a) + "broker 2 clusterid=c ; topic t-0 ; segment 0\n" + b + "\n" }
	// The headers of the batches K are not even headers any more.
	wreck := func(of ...int) string {
		var b strings.Builder
		for _, k := range of {
			fmt.Fprintf(&b, "\ndamage batch=%d field=length flip=30\ndamage batch=%d field=crc flip=3\ndamage batch=%d field=magic set=9\ndamage batch=%d field=baseoffset set=-1", k, k, k, k)
		}
		return b.String()
	}
	move := func(k, bit int) string { return fmt.Sprintf("\ndamage batch=%d field=baseoffset flip=%d", k, bit) }
	wrapped := func(magic int) string { // three messages each, with values that a codec makes shorter
		m := fmt.Sprintf("message magic=%d count=3 codec=gzip value=%s", magic, strings.Repeat("kafka-", 60))
		return m + " ; " + m + " ; " + m
	}
	cleaned := func(third, broker int) string { // batches of a producer in a log with holes
		b := func(base, seq int) string {
			return fmt.Sprintf("batch base=%d pid=7 pepoch=0 seq=%d ts=%d", base, seq, logtest.T0+seq)
		}
		return fmt.Sprintf("broker %d clusterid=c ; topic t-0 ; segment 0\n", 1+broker) + strings.Join([]string{b(2, 2), b(7, 7), b(15, 15), b(40, 40), b(55, 55) + " deltas=0,2"}, " ; ") +
			fmt.Sprintf("\ndamage batch=2 field=baseoffset set=%d\n", third)
	}
	for name, c := range map[string]struct {
		text  string
		index []int64 // offsets that the index of broker 1 has
		want  string
	}{
		"a sound log": {text: one(messages), want: "0–9"},
		"between sound neighbours": {text: one(messages + move(5, 14)),
			want: "0–4 6–9 | gap 5 damaged | lost 5 moved"},
		"between sound neighbours, format 2": {text: one(batches + move(5, 14)),
			want: "0–4 6–9 | gap 5 damaged | lost 5 moved"},
		"downwards":            {text: one(messages + move(5, 2)), want: "0–4 6–9 | gap 5 damaged | lost 5 moved"},
		"two side by side":     {text: one(messages + move(5, 14) + move(6, 15)), want: "0–4 7–9 | gap 5–6 damaged | lost 5–6 moved"},
		"the first one":        {text: one(messages + move(0, 14)), want: "1–9 | gap 0 damaged | lost 0 moved"},
		"the last one":         {text: one(messages + move(9, 14)), want: "0–8 | gap 9 tail | lost 9 moved"},
		"the last two":         {text: one(messages + move(8, 14) + move(9, 38)), want: "0–7 | gap 8–9 tail | lost 8–9 moved"},
		"the last two, lower":  {text: one(batches + move(8, 3) + move(9, 0)), want: "0–7 | gap 8–9 tail | lost 8–9 moved"},
		"behind a damaged one": {text: one(messages + "\ndamage batch=4 flip=20" + move(5, 14)), want: "0–3 6–9 | gap 4–5 damaged | lost 4 damaged, lost 5 moved"},
		"headers of damaged ones bear out": {text: one(messages + "\ndamage batch=4 flip=20\ndamage batch=6 flip=20"),
			want: "0–3 5 7–9 | gap 4 damaged, gap 6 damaged | lost 4 damaged, lost 6 damaged"},
		"alone": {text: one(batches + wreck(3, 4, 6, 7)),
			want: "0–2 8–9 | gap 3–7 unproven | lost 3–4 damaged, lost 5 alone, lost 6–7 damaged"},
		"alone, format 1": {text: one(messages + wreck(4, 6)),
			want: "0–3 7–9 | gap 4–6 unproven | lost 4 damaged, lost 5 alone, lost 6 damaged"},
		"alone, and impossible": {text: one(messages + wreck(4, 6) + move(5, 14)),
			want: "0–3 7–9 | gap 4–6 damaged | lost 4–6 damaged"},
		"alone, the index has it": {text: one(messages + wreck(4, 6)), index: []int64{5},
			want: "0–3 5 7–9 | gap 4 damaged, gap 6 damaged | lost 4 damaged, lost 6 damaged"},
		"alone, another copy has it": {text: two(messages+wreck(4, 6), messages+wreck(2, 6)),
			want: "0–5 7–9 | gap 6 damaged | lost 2 damaged, lost 4 damaged, lost 6 damaged"},
		"alone, another copy ends there": {text: two(messages+wreck(4, 6), messages+"\ndamage batch=5 flip=20"),
			want: "0–9 | lost 4 damaged, lost 5 damaged, lost 6 damaged"},
		"alone at the end": {text: one(messages + wreck(8)),
			want: "0–7 | gap 8–9 unproven | lost 8 damaged, lost 9 alone"},
		"another copy's wrong offset fills no hole": {text: two(messages+"\ndamage batch=5 flip=20", messages+wreck(4, 5, 6, 8)+move(7, 1)),
			want: "0–4 6–9 | gap 5 unproven | lost 4 damaged, lost 5 alone, lost 5 damaged, lost 6–8 damaged"},
		"a log that was salvaged before keeps its holes": {text: one("batch ; batch ; batch base=5 ; batch ; batch base=9 ; batch base=12 ; batch base=15"),
			want: "0–1 5–6 9 12 15 | gap 2–4 missing, gap 7–8 missing, gap 10–11 missing, gap 13–14 missing"},
		"wrappers": {text: one(wrapped(1) + move(1, 14)),
			want: "2 8 | gap 3–5 damaged | lost 3–5 moved"},
		"wrappers of format 0": {text: one(wrapped(0) + wreck(0, 2)),
			want: "5 | gap 0–2 damaged | lost 0–2 damaged, lost ? damaged"},
		"a wrapper of format 0 denied from inside": {text: one(wrapped(0) + move(1, 0)),
			want: "2 8 | gap 3–5 damaged | lost 3–5 moved"},
		"few batches, and the last one moved": {text: one("batch ; batch ; batch ; batch" + "\ndamage batch=0 flip=20" + move(3, 13)),
			want: "1–2 | gap 0 damaged, gap 3 tail | lost 0 damaged, lost 3 moved"},
		"few batches, only holes":               {text: one("batch base=2 ; batch base=5 ; batch base=9"), want: "2 5 9 | gap 0–1 missing, gap 3–4 missing, gap 6–8 missing"},
		"cleaned, two others have it elsewhere": {text: cleaned(15, 0) + cleaned(15, 1) + cleaned(31, 2), want: "2 7 15 40 55 | lost ? moved"},
		"cleaned, another one has it elsewhere": {text: cleaned(15, 0) + cleaned(31, 1),
			want: "2 7 40 55 | gap 8–39 unproven | lost 15 alone, lost 31 alone"},
		"cleaned, only order speaks": {text: cleaned(15, 0), want: "2 7 15 40 55"},
		"cleaned, out of order":      {text: cleaned(79, 0) + cleaned(15, 1), want: "2 7 15 40 55 | lost ? moved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := logtest.Dir(t, c.text)
			if len(c.index) > 0 {
				log := filepath.Join(dir, "broker-1", "t-0", logtest.LogName(0))
				sound := logtest.Log(t, messages)
				var index []byte
				at := 0
				for offset, raw := range split(sound) {
					if slices.Contains(c.index, int64(offset)) {
						index = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(index, uint32(offset)), uint32(at))
					}
					at += len(raw)
				}
				must(t, os.WriteFile(strings.TrimSuffix(log, ".log")+".index", index, 0o644))
			}
			p, out := salvaged(t, dir, repair.SalvageOptions{})
			if got := offsetsOf(t, p, out); got != c.want {
				t.Errorf("\ngot  %s\nwant %s\n%s", got, c.want, tellSalvage(&p.Salvaged.Partitions[0]))
			}
		})
	}
}

// offsetsOf is what became of the offsets of a salvaged partition.
func offsetsOf(t *testing.T, p *repair.Plan, out string) string {
	t.Helper()
	s := &p.Salvaged.Partitions[0]
	span := func(from, to int64) string {
		if to-from == 1 {
			return fmt.Sprint(from)
		}
		return fmt.Sprintf("%d–%d", from, to-1)
	}
	var parts []string
	var have []int64
	for _, list := range rawLogs(t, filepath.Join(out, p.Roots[s.Root].Name)) {
		for _, b := range list {
			have = append(have, b.base)
		}
	}
	slices.Sort(have)
	var held []string
	for i := 0; i < len(have); {
		k := i + 1
		for k < len(have) && have[k] == have[k-1]+1 {
			k++
		}
		held = append(held, span(have[i], have[k-1]+1))
		i = k
	}
	parts = append(parts, strings.Join(held, " "))
	var gaps, lost []string
	for _, g := range s.Gaps {
		gaps = append(gaps, fmt.Sprintf("gap %s %s", span(g.From, g.To), g.Why))
	}
	for _, a := range p.Actions {
		for _, e := range a.Edits {
			if e.Op != repair.Keep {
				continue
			}
			at, why := "?", "other"
			if e.Kept.From != nil {
				at = span(*e.Kept.From, *e.Kept.To)
			}
			for prefix, short := range map[string]string{"damaged": "damaged", "whole, with": "moved", "whole, between": "alone"} {
				if strings.HasPrefix(e.Kept.Why, prefix) {
					why = short
				}
			}
			lost = append(lost, fmt.Sprintf("lost %s %s", at, why))
		}
	}
	slices.Sort(lost)
	for _, list := range [][]string{gaps, slices.Compact(lost)} {
		if len(list) > 0 {
			parts = append(parts, strings.Join(list, ", "))
		}
	}
	return strings.Join(parts, " | ")
}

// TestSalvageOfWrongEpochs: nor does one cover the leader epoch. The records of such a batch are whole: it stays,
// what the result says of epochs is what everything else says, and where another copy has it right that one is taken.
func TestSalvageOfWrongEpochs(t *testing.T) {
	const batches = "batch epoch=5 ; batch ; batch ; batch ; batch ; batch ; batch ; batch ; batch ; batch"
	const wreck = "\ndamage batch=6 field=length flip=30\ndamage batch=6 field=crc flip=3\ndamage batch=6 field=magic set=9\ndamage batch=6 field=baseoffset set=-1"
	const file = "\nepochs 5:0"
	copyOf := func(broker int, log string) string {
		return fmt.Sprintf("broker %d clusterid=c ; topic t-0 ; segment 0\n%s\n", broker, log)
	}
	for name, c := range map[string]struct {
		text, want string
		as         bool // the header is as it was found
	}{
		"between sound ones":    {copyOf(1, batches+"\ndamage batch=7 field=epoch flip=1"), "0–9 [[5 0]]", true},
		"before damaged bytes":  {copyOf(1, batches+wreck+"\ndamage batch=5 field=epoch flip=1"), "0–5 7–9 | gap 6 damaged | lost 6 damaged [[5 0]]", true},
		"lower, behind damaged": {copyOf(1, batches+wreck+"\ndamage batch=7 field=epoch flip=0"), "0–5 7–9 | gap 6 damaged | lost 6 damaged [[5 0]]", true},
		"the last one":          {copyOf(1, batches+"\ndamage batch=9 field=epoch flip=1"+file), "0–9 [[5 0]]", true},
		// It may well be what a new leader wrote before the epoch file went.
		"the last one, and no epoch file": {copyOf(1, batches+"\ndamage batch=9 field=epoch flip=1"), "0–9 [[5 0] [7 9]]", false},
		"another copy has it right": {copyOf(1, batches+"\ndamage batch=9 field=epoch flip=1"+file) + copyOf(2, batches+"\ndamage batch=4 flip=20"+file),
			"0–9 | lost 4 damaged, lost 9 other [[5 0]]", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out := salvaged(t, logtest.Dir(t, c.text), repair.SalvageOptions{})
			s := &p.Salvaged.Partitions[0]
			if got := fmt.Sprint(offsetsOf(t, p, out), " ", s.Epochs); got != c.want {
				t.Errorf("\ngot  %s\nwant %s\n%s", got, c.want, tellSalvage(s))
			}
			if as := slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "the header is as it was found") }); as != c.as {
				t.Errorf("notes: %q", s.Notes)
			}
		})
	}
}
