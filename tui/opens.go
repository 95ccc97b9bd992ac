package tui

// keyHint is a key and its meaning in the status line.
type keyHint struct{ key, text string }

// What enter opens and where tab goes, and other keys that hold everywhere where a screen
// is for them. Of a table with a text below, the rule between them names tab.

func (s *caseScreen) opens() []keyHint     { return []keyHint{{"enter", "partition"}} }
func (s *metadataScreen) opens() []keyHint { return []keyHint{{"enter", "history"}} }
func (s *historyScreen) opens() []keyHint  { return []keyHint{{"enter", "metadata record"}} }
func (s *lossScreen) opens() []keyHint     { return []keyHint{{"enter", "first record"}} }
func (s *leadersScreen) opens() []keyHint  { return []keyHint{{"enter", "what it loses"}} }
func (s *startScreen) opens() []keyHint    { return []keyHint{{"enter", "segments"}} }
func (s *txnsScreen) opens() []keyHint     { return []keyHint{{"enter", "records"}} }
func (s *diffScreen) opens() []keyHint {
	return []keyHint{{"n", "next"}, {"enter", "batch"}, {"tab", "other side"}}
}
func (s *batchesScreen) opens() []keyHint { return []keyHint{{"enter", "batch"}} }
func (s *entriesScreen) opens() []keyHint { return []keyHint{{"enter", "batch"}} }
func (s *epochFile) opens() []keyHint     { return []keyHint{{"enter", "batch"}} }

func (s *partitionScreen) opens() []keyHint {
	if s.inTable {
		return []keyHint{{"enter", "segments"}, {"tab", "chart"}}
	}
	return []keyHint{{"enter", "batch"}, {"tab", "replicas"}}
}

func (s *findingsScreen) opens() []keyHint {
	if s.code == "" {
		return []keyHint{{"enter", "list"}}
	}
	return []keyHint{{"enter", "its bytes"}}
}

func (s *segmentsScreen) opens() []keyHint {
	if s.table == s.segments {
		return []keyHint{{"enter", "open"}, {"tab", "every file"}}
	}
	return []keyHint{{"enter", "open"}, {"tab", "segments"}}
}

func (s *textFile) opens() []keyHint {
	switch {
	case !s.loaded || s.inHex && s.table.rows.Len() == 0 && s.bad == nil:
		return nil
	case s.inHex:
		return []keyHint{{"tab", "what it says"}}
	}
	return []keyHint{{"tab", "bytes"}}
}

func (s *batchScreen) opens() []keyHint {
	if s.inHex {
		return []keyHint{{"enter", "fields"}}
	}
	return []keyHint{{"tab", "bytes"}}
}

func (s *recordsScreen) opens() []keyHint { return []keyHint{{"tab", "record"}} }
