package apply

import (
	"fmt"
	"strings"
	"testing"

	"kafsck/internal/logtest"
	"kafsck/repair"
)

// TestSalvageOfContradictions: batches of one copy that have the same offsets, or claim more than they can have. Which
// one is in the result, that a whole batch which is not is told and counted once, and that one is harmless
// which the result has.
func TestSalvageOfContradictions(t *testing.T) {
	one := func(broker int, log string) string {
		return fmt.Sprintf("broker %d clusterid=c ; topic t-0 ; segment 0\n%s\n", broker, log)
	}
	// Batches of ten records from an offset on.
	run := func(value string, from, to int) string {
		var b []string
		for at := from; at < to; at += 10 {
			b = append(b, fmt.Sprintf("batch base=%d records=10 value=%s%%d", at, value))
		}
		return strings.Join(b, " ; ")
	}
	const far = " ; batch base=10 records=10 lastdelta=2147483647 ; "
	cleaned := func(deltas string) string { // batch 10–19 of a producer, with the records that cleaning left
		return fmt.Sprintf("batch base=10 pid=7 pepoch=0 seq=10 ts=%d deltas=%s lastdelta=9", logtest.T0, deltas)
	}
	for name, c := range map[string]struct {
		text, want string
	}{
		"another content in the next segment": {one(1, run("a", 0, 50)+"\nsegment 20\n"+run("b", 20, 80)),
			"0–79, 80 records | 3 contradicted, 30 records, 20–49"},
		"in two copies": {one(1, run("a", 0, 50)+"\nsegment 20\n"+run("b", 20, 80)) + one(2, run("a", 0, 50)+"\nsegment 20\n"+run("b", 20, 80)),
			"0–79, 80 records | 3 contradicted, 30 records, 20–49"},
		"the same content in the next segment": {one(1, run("a", 0, 50)+"\nsegment 20\n"+run("a", 20, 80)),
			"0–79, 80 records | 3 double"},
		"one of three is another": {one(1, run("a", 0, 30)+" ; batch base=30 records=10 value=x ; "+run("a", 40, 50)+"\nsegment 20\n"+run("a", 20, 80)),
			"0–79, 80 records | 2 double | 1 contradicted, 10 records, 30–39"},
		"another content in the same file": {one(1, run("a", 0, 30)+" ; "+run("b", 20, 30)+" ; "+run("a", 30, 60)),
			"0–59, 60 records | 1 contradicted, 10 records, 20–29"},
		"the same with another epoch": {one(1, run("a", 0, 30)+" ; batch base=20 records=10 value=a%d epoch=1 ; batch base=30 records=10 value=a%d epoch=0"),
			"0–39, 40 records | lost+found: the result has the same records with another leader epoch in the batch header"},
		"another copy has both": {one(1, run("a", 0, 50)+"\nsegment 20\n"+run("b", 20, 80)) + one(2, run("b", 0, 80)),
			"0–79, 80 records | 3 contradicted, 30 records, 20–49 | 2 of another line"},
		"cleaned in the next segment": {one(1, "cleaner 20\n"+run("a", 0, 10)+" ; "+cleaned("0,1,2,3,4,5,6,7,8,9")+"\nsegment 10\n"+cleaned("0,9")+" ; "+run("a", 20, 30)),
			"0–29, 22 records | lost+found: the result has these offsets cleaned, or without what the cleaner took out"},
		"messages of format 0": {one(1, "message magic=0 count=5 ; message magic=0 base=3 count=2 value=other ; message magic=0 base=5 count=2"),
			"0–6 | 2 contradicted, 0 records, 3–4"},
		"messages of format 0, the same": {one(1, "message magic=0 count=5 ; message magic=0 base=3 count=2 ; message magic=0 base=5 count=2"),
			"0–6 | 2 double"},

		"a last offset too high, and it goes on": {one(1, run("a", 0, 10)+far+run("a", 20, 80)),
			"0–79, 70 records | gap 10–19 damaged | 1 contradicted, 10 records, 10–19"},
		"the next segment goes on": {one(1, run("a", 0, 10)+far+"\nsegment 20\n"+run("a", 20, 30)),
			"0–29, 20 records | gap 10–19 damaged | 1 contradicted, 10 records, 10–19"},
		"other batches lie among its offsets": {one(1, run("a", 0, 10)+far+run("a", 40, 80)),
			"0–79, 50 records | gap 10–39 damaged | 1 contradicted, 10 records, 10–19"},
		"another copy has it right": {one(1, run("a", 0, 10)+" ; batch base=10 records=10 lastdelta=11 ; "+run("a", 20, 40)) + one(2, run("a", 0, 40)),
			"0–39, 40 records | 1 contradicted, 10 records, 10–19"},
		"another copy goes on": {one(1, run("a", 0, 10)+strings.TrimSuffix(far, " ; ")) + one(2, run("a", 0, 10)+far+run("a", 20, 40)),
			"0–39, 30 records | gap 10–19 damaged | 1 contradicted, 10 records, 10–19"},
		"the recovery point goes on": {one(1, "recovery 20\n"+run("a", 0, 10)+strings.TrimSuffix(far, " ; ")),
			"0–9, 10 records | gap 10–19 tail | 1 contradicted, 10 records, 10–19"},
		"nothing goes on": {one(1, run("a", 0, 10)+strings.TrimSuffix(far, " ; ")),
			"0–2147483657, 20 records | note: the last batch claims"},
		"a cleaned one claims what it may": {one(1, "batch base=0 deltas=0,4 lastdelta=9 ; batch base=10 deltas=0,3 lastdelta=9 ; batch base=20"),
			"0–20, 5 records"},

		"an offset at the very end": {one(1, run("a", 0, 20)+"\ndamage batch=1 field=baseoffset set=9223372036854775800"),
			"0–9, 10 records | gap 10–19 tail | 1 contradicted, 10 records, 10–19"},
		"a log at the very end": {"broker 1 clusterid=c ; topic t-0 ; segment 9223372036854775798\nbatch base=9223372036854775798 records=10\ntopic u-0 ; segment 0\n" + run("a", 0, 10),
			"t-0: nothing | u-0: 0–9, 10 records"},

		"few bytes that are no batch": {one(1, run("a", 0, 20)+" ; raw zeros=61 ; "+run("a", 20, 30)+" ; raw zeros=12 ; "+run("a", 30, 40)),
			"0–39, 40 records"},
		"bytes that may have been one": {one(1, run("a", 0, 20)+" ; raw zeros=68 ; "+run("a", 20, 30)+" ; raw zeros=68 ; "+run("a", 30, 40)),
			"0–19, 20 records | gap 20–39 unproven"},
		"batches that may lie in a value, in both copies": {one(1, run("a", 0, 20)+" ; raw zeros=110 ; "+run("evil", 20, 40)+" ; raw zeros=12 ; "+run("a", 40, 80)) + one(2, run("a", 0, 20)+" ; raw zeros=110 ; "+run("evil", 20, 40)+" ; raw zeros=12 ; "+run("a", 40, 80)),
			"0–79, 60 records | gap 20–39 unproven"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := logtest.Dir(t, c.text)
			p, out := salvaged(t, dir, repair.SalvageOptions{})
			if got := contradictions(p); got != c.want {
				t.Errorf("\ngot  %s\nwant %s\n%s", got, c.want, tellSalvage(&p.Salvaged.Partitions[0]))
			}
			nothingLost(t, name, rawLogs(t, dir), out)
		})
	}
}

// contradictions is what became of each partition, and what is told of batches that contradict others.
func contradictions(p *repair.Plan) string {
	span := func(from, to int64) string { return fmt.Sprintf("%d–%d", from, to-1) }
	var all []string
	for i := range p.Salvaged.Partitions {
		s := &p.Salvaged.Partitions[i]
		var parts []string
		tell := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
		head := ""
		if len(p.Salvaged.Partitions) > 1 {
			head = s.Partition + ": "
		}
		switch {
		case s.Root < 0:
			tell("%snothing", head)
		case s.Records == nil:
			tell("%s%s", head, span(s.LogStartOffset, s.LogEndOffset))
		default:
			tell("%s%s, %d records", head, span(s.LogStartOffset, s.LogEndOffset), *s.Records)
		}
		for _, g := range s.Gaps {
			tell("gap %s %s", span(g.From, g.To), g.Why)
		}
		doubles := int64(0)
		for _, c := range s.Copies {
			doubles += c.Doubles
		}
		if doubles > 0 {
			tell("%d double", doubles)
		}
		if c := s.Contradicted; c != nil {
			tell("%d contradicted, %d records, %s", c.Batches, c.Records, span(*c.From, *c.To))
		}
		if s.Other != nil {
			tell("%d of another line", s.Other.Batches)
		}
		for _, n := range s.Notes {
			if strings.HasPrefix(n, "the last batch claims") {
				tell("note: the last batch claims")
			}
		}
		for _, a := range p.Actions {
			for _, e := range a.Edits {
				if e.Op == repair.Keep && strings.HasPrefix(e.Kept.Why, "the result has ") {
					tell("lost+found: %s", e.Kept.Why)
				}
			}
		}
		all = append(all, strings.Join(parts, " | "))
	}
	return strings.Join(all, " | ")
}
