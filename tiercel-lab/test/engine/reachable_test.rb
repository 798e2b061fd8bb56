# frozen_string_literal: true

require_relative "../support/lab_case"
require "socket"

class ReachableTest < LabCase
  # On c8fa7d5a the run measured everything else first, and then said that no store suits.
  def test_a_server_that_does_not_answer_is_named_before_anything_is_measured
    server = TCPServer.new("127.0.0.1", 0)
    port = server.addr[1]
    check = ->(*texts) { Lab::Engine::Reachable.check(texts.map { |text| Lab::Contestants.parse(text) }) }
    check.call("memory_store", "mine=redis://127.0.0.1:#{port}/0", "tiercel:memcached://127.0.0.1:#{port}",
               "mem_cache_store:127.0.0.1:#{port}")
    server.close
    ["mine=redis://:secret@127.0.0.1:#{port}/0", "tiercel:shared: redis://127.0.0.1:#{port}",
     "mem_cache_store:127.0.0.1:#{port}"].each do |text|
      error = assert_raises(Lab::UsageError, text) { check.call("memory_store", text) }
      assert_match(/127\.0\.0\.1:#{port} does not answer .*nothing was measured/, error.message)
      refute_match(/secret/, error.message)
    end
  end
end
