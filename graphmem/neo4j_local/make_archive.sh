# Make the archive of Neo4j's classes in the background, some time later.
# Arguments: log, unfinished archive, finished archive, the server's list of classes, the list to use, seconds to
# wait, the longest line; the others are the command.
log=$1 from=$2 to=$3 list=$4 chosen=$5 wait=$6 longest=$7
shift 7
(
    sleep "$wait"
    # The server may still be writing the last line of its list.
    sed '$d' "$list" | awk -v longest="$longest" 'length($0) < longest && !/[$]Proxy/' >"$chosen"
    nice -n 19 "$@" && mv -f "$from" "$to" || rm -f "$from"
) >"$log" 2>&1 &
