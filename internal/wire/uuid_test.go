package wire

import (
	"encoding/json"
	"testing"
)

func TestUUID(t *testing.T) {
	const text = "hF7bEvJ3TEm5wvFBX5mlPw" // written by Kafka
	r := Make(unhex(t, "845edb12f2774c49b9c2f1415f99a53f"))
	u := r.UUID()
	if u.String() != text || u.IsZero() {
		t.Errorf("String = %q, want %q", u, text)
	}
	for _, s := range []string{text, text + "=="} {
		if got, err := ParseUUID(s); err != nil || got != u {
			t.Errorf("ParseUUID(%q) = %v, %v", s, got, err)
		}
	}
	if got, err := ParseUUID("AAAAAAAAAAAAAAAAAAAAAA"); err != nil || !got.IsZero() {
		t.Errorf("zero: %v, %v", got, err)
	}
	for _, s := range []string{"", text[:21], text + "=", text + "===", text + "A", text[:21] + "+", text[:10] + "\n" + text[11:],
		text[:20] + "\r\n", text + "\n\n", "845edb12-f277-4c49-b9c2-f1415f99a53f"} {
		if got, err := ParseUUID(s); err == nil || !got.IsZero() {
			t.Errorf("ParseUUID(%q) = %v, want an error", s, got)
		}
	}
	out, err := json.Marshal(map[string]UUID{"id": u})
	if err != nil || string(out) != `{"id":"`+text+`"}` {
		t.Errorf("JSON %s, %v", out, err)
	}
	var back map[string]UUID
	if err := json.Unmarshal(out, &back); err != nil || back["id"] != u {
		t.Errorf("back: %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"id":"x"}`), &back); err == nil {
		t.Error("a bad UUID in JSON was accepted")
	}
}

func FuzzParseUUID(f *testing.F) {
	f.Add("hF7bEvJ3TEm5wvFBX5mlPw")
	f.Add("hF7bEvJ3TEm5wvFBX5mlPw==")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUUID(s)
		if err != nil {
			return
		}
		if back, err := ParseUUID(u.String()); err != nil || back != u {
			t.Fatalf("%q → %v → %v, %v", s, u, back, err)
		}
	})
}
