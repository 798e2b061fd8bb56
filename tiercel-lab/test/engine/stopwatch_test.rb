# frozen_string_literal: true

require_relative "../support/lab_case"
require "tiercel/lab/engine/stopwatch"

class StopwatchTest < LabCase
  def test_sleep_is_waiting_and_work_is_not
    *, waited, delay = Lab::Engine::Stopwatch.time { sleep 0.05 }
    skip "this kernel does not tell" unless delay
    assert_operator waited, :>, 20_000_000
    ns, _gc, cpu, _compiled, waited, delay = Lab::Engine::Stopwatch.time { 100_000.times { Math.sqrt(2.0) } }
    assert_operator cpu + waited + delay, :<=, ns + 5_000_000
  end
end
