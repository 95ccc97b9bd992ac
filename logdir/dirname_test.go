package logdir

import (
	"strings"
	"testing"
)

const uid = "9f2c4d1e8a7b4c60b1d2e3f405162738"

func TestParseDirName(t *testing.T) {
	long := strings.Repeat("n", 249)
	for name, want := range map[string]DirName{
		"orders-0":                           {Topic: "orders"},
		"orders-2147483647":                  {Topic: "orders", Partition: 2147483647},
		"a.b-c-0":                            {Topic: "a.b-c"},
		"x-delete-0":                         {Topic: "x-delete"},
		"x-future-3":                         {Topic: "x-future", Partition: 3},
		"-0":                                 {}, // error
		"t--0":                               {Topic: "t-"},
		"t-+1":                               {Topic: "t", Partition: 1}, // Integer.parseInt
		"t-007":                              {Topic: "t", Partition: 7},
		"t-\u0663":                           {Topic: "t", Partition: 3},  // Arabic-Indic digit
		"t-\uff11\uff12":                     {Topic: "t", Partition: 12}, // full-width digits
		"t-\U0001d7d9":                       {},                          // outside the BMP: two Java chars
		"my topic-1":                         {Topic: "my topic", Partition: 1},
		"evil\x1b[2J\n-0":                    {Topic: "evil\x1b[2J\n"},
		"orders-0." + uid + "-delete":        {Topic: "orders", State: Delete},
		"orders-3." + uid + "-future":        {Topic: "orders", Partition: 3, State: Future},
		"orders-3." + uid + "-stray":         {Topic: "orders", Partition: 3, State: Stray},
		"a.b-c-0." + uid + "-stray":          {Topic: "a.b-c", State: Stray},
		"t-0.not-a-uid-delete":               {Topic: "t", State: Delete}, // the random part is not checked
		"my topic-0." + uid + "-delete":      {},                          // \S
		"foo-future":                         {},
		"foo-0-future":                       {},
		"foo-0.-delete":                      {},
		"x-delete":                           {},
		"a-b.c.d-delete":                     {}, // cut at the last dot: "b.c" is no number
		"lost+found":                         {},
		"backup":                             {},
		"orders-x":                           {},
		"orders-":                            {},
		"":                                   {},
		"t-2147483648":                       {},
		"t-+":                                {},
		"t-1 ":                               {},
		long[:211] + "-0." + uid + "-delete": {Topic: long[:211], State: Delete},
		long[:212] + "-0." + uid + "-delete": {Topic: long[:212], State: Delete},
		long[:213] + "-0." + uid + "-delete": {Topic: long[:213], State: Delete, TopicCut: len(long[:213]+"-0."+uid+"-delete") == 255},
		long + "-0." + uid + "-future":       {Topic: long, State: Future}, // not capped
	} {
		got, err := ParseDirName(name)
		if want == (DirName{}) {
			if err == nil {
				t.Errorf("%q: got %+v, want an error", name, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", name, got, err, want)
		}
	}
}

// TestCutTopic: LocalLog.logDirNameWithSuffixCappedLength cuts the topic so that the name has 255
// characters; another directory with the same topic id tells the whole name.
func TestCutTopic(t *testing.T) {
	long := strings.Repeat("orders.of.the.day-", 13) + "with-end" // 242 characters
	cut := long[:255-len("-7."+uid+"-stray")] + "-7." + uid + "-stray"
	if len(cut) != 255 {
		t.Fatal(len(cut))
	}
	const id = `version: 0\ntopic_id: 6ADOF81vR4-z3cM2elXRZg`
	c := discoverTree(t,
		"b1/meta.properties = node.id=1", "b1/"+cut+"/partition.metadata = "+id,
		"b2/meta.properties = node.id=2", "b2/"+long+"-7/partition.metadata = "+id)
	p := c.Brokers[0].Dirs[0].Partitions[0]
	if p.Topic != long || p.TopicCut || p.Partition != 7 || p.State != Stray {
		t.Errorf("got topic %q (cut %v) partition %d %s", p.Topic, p.TopicCut, p.Partition, p.State)
	}

	c = discoverTree(t, "b1/meta.properties = node.id=1", "b1/"+cut+"/partition.metadata = "+id)
	p = c.Brokers[0].Dirs[0].Partitions[0]
	if p.Topic != long[:len(p.Topic)] || !p.TopicCut || !p.HasTopicID {
		t.Errorf("alone: got topic %q (cut %v)", p.Topic, p.TopicCut)
	}

	// Two names for one id: nothing can be said.
	c = discoverTree(t,
		"b1/meta.properties = node.id=1", "b1/"+cut+"/partition.metadata = "+id,
		"b2/meta.properties = node.id=2", "b2/"+long+"-7/partition.metadata = "+id,
		"b3/meta.properties = node.id=3", "b3/"+long+"s-7/partition.metadata = "+id)
	if p = c.Brokers[0].Dirs[0].Partitions[0]; !p.TopicCut {
		t.Errorf("ambiguous: got topic %q", p.Topic)
	}
}

func FuzzParseDirName(f *testing.F) {
	for _, s := range []string{"orders-0", "a.b-c-0." + uid + "-delete", "t-+1", "foo-future", "\xff-\xff-1", "t-\u0663", "-", "a-b.c-stray"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		d, err := ParseDirName(name)
		if err != nil {
			if d != (DirName{}) {
				t.Errorf("%q: a value beside an error", name)
			}
			return
		}
		if d.Topic == "" || d.Partition < 0 || !strings.HasPrefix(name, d.Topic+"-") {
			t.Errorf("%q: got %+v", name, d)
		}
		// What was parsed parses to the same again.
		plain := (&Partition{Topic: d.Topic, Partition: d.Partition}).Name()
		if d.State == Live {
			if again, err := ParseDirName(plain); err != nil || again.Topic != d.Topic || again.Partition != d.Partition {
				t.Errorf("%q: %q parses to %+v, %v", name, plain, again, err)
			}
		}
	})
}
