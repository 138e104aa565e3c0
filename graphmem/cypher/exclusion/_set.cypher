// Note on subjects when they were excluded and included again. Takes `subject_id`.
<exclusion._toggles>
<exclusion._subject>
SET subject.excluded = CASE WHEN size(toggles) > 0 THEN toggles END, subject.excluded_learned = toggles_learned
