# frozen_string_literal: true

# The lab in this repository (bin/lab), with the command `choice`, which the gem does not contain.

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
begin
  require "tiercel/lab/cli"
  require_relative "choice"
rescue SignalException # before there is anything to keep
  exit 130
end

exit Tiercel::Lab::CLI.run(ARGV)
