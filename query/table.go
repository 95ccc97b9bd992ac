package query

// TableKind is the kind of the rows of a table: the heads of its columns are the names, without
// spaces and in any case. A Line of it has Cell.
func TableKind(columns []string) *Kind {
	k := &Kind{Name: "row", names: map[string]int{}, fold: true}
	for i, c := range columns {
		name := folded(c)
		if _, twice := k.names[name]; twice || name == "" {
			continue
		}
		k.names[name] = len(k.Fields)
		k.Fields = append(k.Fields, Field{Name: shortName(c), Type: Open, Maybe: true, open: func(l *Line, as Type) value {
			v, shown := l.Cell(i)
			if as == Text {
				if s, ok := v.(string); ok && s != "" {
					return text(s)
				}
				if v == nil && shown == "" {
					return absent
				}
				return of(v, shown, as)
			}
			return of(v, shown, as)
		}})
	}
	return k
}

// shortName is the head of a column as a name: "max time" is maxTime.
func shortName(head string) string {
	out := make([]rune, 0, len(head))
	up := false
	for _, r := range head {
		if r == ' ' || r == '_' || r == '-' {
			up = len(out) > 0
			continue
		}
		if up && 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		up = false
		out = append(out, r)
	}
	return string(out)
}
