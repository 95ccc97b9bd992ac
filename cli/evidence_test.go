package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// ungrouped is a count of four digits or more without separators. Offsets and positions have none.
var ungrouped = regexp.MustCompile(`(?:^|[^\d,.x-])(\d{4,}) (?:bytes?|segments?|batch(?:es)?|records?|entries|files?|partitions?|producers?|replicas|director(?:y|ies))\b`)

// illSaid is what is wrong with the words of a line "finding", "" if nothing.
func illSaid(l map[string]any) string {
	summary := l["summary"].(string)
	texts := []string{summary}
	for _, e := range l["evidence"].([]any) {
		e := e.(map[string]any)
		claim, _ := e["claim"].(string)
		for _, key := range []string{"want", "got"} {
			v, _ := e[key].(string)
			if texts = append(texts, v); v != "" && strings.Contains(claim, key+" "+v) {
				return fmt.Sprintf("%s: %q stands in the claim as well: %s", l["code"], key, claim)
			}
		}
		for _, part := range strings.FieldsFunc(summary, func(r rune) bool { return r == ':' || r == ';' }) {
			if part = strings.TrimSpace(part); len(part) > 30 && strings.Contains(claim, part) {
				return fmt.Sprintf("%s: the summary says %q, and the evidence again: %s", l["code"], part, claim)
			}
		}
		texts = append(texts, claim)
	}
	for _, s := range texts {
		if m := ungrouped.FindStringSubmatch(s); m != nil {
			return fmt.Sprintf("%s: %s has no separators: %s", l["code"], m[1], s)
		}
	}
	return ""
}

// TestEvidenceOfCases: what the evidence of some cases says, word for word.
func TestEvidenceOfCases(t *testing.T) {
	if testing.Short() {
		return // the words of check, which TestDamagedCases runs
	}
	dir := fixture.Unpack(t, "cases")
	for id, want := range map[string][]string{
		"BR-26a": {"offsets 10–14: checksum mismatch: inner message 3 crc at decompressed byte 147: expected 0xb5b2feb3, found 0xb5b3feb3"},
		"BR-26b": {"position 9204, 2,184 bytes, offsets 240–249: malformed record: recordCount at byte 2184: expected 10 records, found 9"},
		"BR-85c": {"offsets 0–1: cannot decompress: lz4 at byte 67: checksum of the frame header does not match"},
		"BR-93":  {"deletion by time waits until 2099-01-08 00:00:00Z and holds back 69,175 bytes orders-0/", "the default of retention.ms: the topic's is not known; held back: the segment and 2 segments behind it"},
		// The record of node 2 names another replica, as the recipe of the case says.
		"BR-77": {
			"says otherwise: PARTITION_CHANGE_RECORD at 2026-11-30T01:53:29.671Z: eligibleLeaderReplicas [16777217] node 1,",
			"raft epoch 2: PARTITION_CHANGE_RECORD at 2026-11-30T01:53:29.671Z: eligibleLeaderReplicas [1] node 3,",
		},
	} {
		_, out, errs := kafsck("check", "--level", "records", filepath.Join(dir, id))
		got := strings.Join(strings.Fields(out), " ")
		for _, s := range want {
			if !strings.Contains(got, s) || errs != "" {
				t.Errorf("%s: no %q\n%s%s", id, s, out, errs)
			}
		}
		if strings.Count(got, "deletion by time waits until") > 1 {
			t.Errorf("%s: said twice\n%s", id, out)
		}
	}
}
