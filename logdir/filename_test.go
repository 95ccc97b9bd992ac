package logdir

import (
	"math"
	"strings"
	"testing"
)

func TestParseFileName(t *testing.T) {
	const d7 = "00000000000000000007"
	type want struct {
		kind   Kind
		suffix Suffix
		base   int64
		why    string // beginning
	}
	for name, w := range map[string]want{
		d7 + ".log":                             {kind: KindLog, base: 7},
		d7 + ".index":                           {kind: KindIndex, base: 7},
		d7 + ".timeindex":                       {kind: KindTimeIndex, base: 7},
		d7 + ".txnindex":                        {kind: KindTxnIndex, base: 7},
		d7 + ".snapshot":                        {kind: KindProducerSnapshot, base: 7},
		d7 + ".log.deleted":                     {kind: KindLog, suffix: Deleted, base: 7},
		d7 + ".snapshot.deleted":                {kind: KindProducerSnapshot, suffix: Deleted, base: 7},
		d7 + ".index.swap":                      {kind: KindIndex, suffix: Swap, base: 7},
		d7 + ".timeindex.cleaned":               {kind: KindTimeIndex, suffix: Cleaned, base: 7},
		"09223372036854775807.log":              {kind: KindLog, base: math.MaxInt64},
		"00000000000000000000.log":              {kind: KindLog},
		d7 + "-0000000003.checkpoint":           {kind: KindMetadataSnapshot, base: 7},
		d7 + "-0000000003.checkpoint.deleted":   {kind: KindMetadataSnapshot, suffix: Deleted, base: 7},
		d7 + "-0000000003-4711.checkpoint.part": {kind: KindTemporary, base: -1, why: "unfinished metadata snapshot"},
		"leader-epoch-checkpoint":               {kind: KindEpochs, base: -1},
		"partition.metadata":                    {kind: KindPartitionMetadata, base: -1},
		"quorum-state":                          {kind: KindQuorumState, base: -1},
		"leader-epoch-checkpoint.tmp":           {kind: KindTemporary, base: -1, why: "unfinished write"},
		"partition.metadata.tmp":                {kind: KindTemporary, base: -1, why: "unfinished write"},
		"09223372036854775808.log":              {kind: KindBadSegmentName, base: -1, why: "the base offset does not fit"},
		"99999999999999999999.index":            {kind: KindBadSegmentName, base: -1, why: "the base offset does not fit"},
		"foo.log":                               {kind: KindBadSegmentName, base: -1, why: `"foo" before the first dot is not a number`},
		"foo.log.deleted":                       {kind: KindBadSegmentName, suffix: Deleted, base: -1, why: `"foo"`},
		"x.index":                               {kind: KindBadSegmentName, base: -1, why: `"x"`},
		".log":                                  {kind: KindBadSegmentName, base: -1, why: "no base offset"},
		"7.log":                                 {kind: KindBadSegmentName, base: -1, why: "the base offset is not written in 20 digits; a broker would open " + d7},
		"+0000000000000000007.log":              {kind: KindBadSegmentName, base: -1, why: "the base offset is not written in 20 digits"},
		"-0000000000000000007.log":              {kind: KindBadSegmentName, base: -1, why: "the base offset is negative"},
		"000000000000000000007.log":             {kind: KindBadSegmentName, base: -1, why: "the base offset is not written in 20 digits"},
		d7 + ".copy.log":                        {kind: KindBadSegmentName, base: -1, why: "more than one dot"},
		d7 + ".log.bak":                         {kind: KindOther, base: -1, why: "not a file of a broker"},
		d7 + ".log.deleted.deleted":             {kind: KindOther, base: -1, why: "not a file of a broker"},
		d7:                                      {kind: KindOther, base: -1, why: "not a file of a broker"},
		d7 + ".checkpoint":                      {kind: KindOther, base: -1, why: "not a file of a broker"},
		d7 + "-99999999999.checkpoint":          {kind: KindOther, base: -1, why: "not a file of a broker"},
		d7 + "-9999999999.checkpoint":           {kind: KindOther, base: -1, why: "not a file of a broker"},
		"":                                      {kind: KindOther, base: -1, why: "not a file of a broker"},
		"log":                                   {kind: KindOther, base: -1, why: "not a file of a broker"},
		"\x1b]0;x\x07.log":                      {kind: KindBadSegmentName, base: -1, why: `"\x1b]0;x\a" before`},
		"\u0660\u0661.log":                      {kind: KindBadSegmentName, base: -1, why: `"` + "\u0660\u0661"},
		"meta.properties":                       {kind: KindOther, base: -1, why: "not a file of a broker"},
	} {
		got := parseFileName(name)
		if got.kind != w.kind || got.suffix != w.suffix || got.base != w.base || !strings.HasPrefix(got.why, w.why) || (w.why == "") != (got.why == "") {
			t.Errorf("%q: got %v%v base %d %q, want %+v", name, got.kind, got.suffix, got.base, got.why, w)
		}
	}
	if f := parseFileName(d7 + "-0000000003.checkpoint"); f.epoch != 3 {
		t.Errorf("epoch %d", f.epoch)
	}
}

func FuzzParseFileName(f *testing.F) {
	for _, s := range []string{"00000000000000000007.log", "7.log", "00000000000000000007-0000000003.checkpoint.deleted", "x.index.swap", "..log"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := parseFileName(name)
		if got.why == "" && got.kind == KindOther {
			t.Errorf("%q is neither known nor unknown", name)
		}
		if got.why == "" && got.kind.ofSegment() {
			ext := map[Kind]string{KindLog: "log", KindIndex: "index", KindTimeIndex: "timeindex", KindTxnIndex: "txnindex", KindProducerSnapshot: "snapshot"}[got.kind]
			if want := name[:20] + "." + ext + got.suffix.String(); name != want || got.base < 0 {
				t.Errorf("%q parsed as %q, base %d", name, want, got.base)
			}
		}
		if SuffixOf(name) != got.suffix && got.kind.ofSegment() {
			t.Errorf("%q: two suffixes", name)
		}
	})
}

// TestLogDirFiles: names directly in a log directory.
func TestLogDirFiles(t *testing.T) {
	for name, want := range map[string]Kind{
		"meta.properties": KindMetaProperties, "replication-offset-checkpoint": KindHighWatermarks,
		"recovery-point-offset-checkpoint": KindRecoveryPoints, "log-start-offset-checkpoint": KindLogStarts,
		"cleaner-offset-checkpoint": KindCleanerOffsets, ".kafka_cleanshutdown": KindCleanShutdown, ".lock": KindLock,
		"bootstrap.checkpoint": KindBootstrap, "meta.properties.tmp": KindTemporary,
		"replication-offset-checkpoint.tmp": KindTemporary, "notes.txt": KindOther, "x.tmp": KindOther,
	} {
		if got := parseLogDirFile(name).kind; got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}
