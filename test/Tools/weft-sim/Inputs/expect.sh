# expect.sh CODE COMMAND...: runs the command; fails unless it ends with CODE.
code=$1
shift
"$@"
status=$?
[ "$status" -eq "$code" ] || { echo "ended with $status, expected $code"; exit 1; }
