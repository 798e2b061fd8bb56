# frozen_string_literal: true
# suites: store

require "test_helper"
require "open3"

# Ruby loads the threads of `fetch` with their first use. If a file that one thread loads automatically is also required
# by another file, two first uses at the same time block each other for ever.
class FirstUseTest < Tiercel::TestCase
  LIB = File.expand_path("../../../lib", __dir__)

  SCRIPT = <<~'RUBY'
    require "active_support/cache/tiercel_store"
    Fetch = Tiercel::Store::Fetch
    other = nil
    TracePoint.new(:script_compiled) do |point|
      next unless point.instruction_sequence.path.end_with?("fetch/background.rb")
      other ||= Thread.new { Fetch::Background }
      Thread.pass until other.stop?
    end.enable { Fetch::TimedBlock }
    other&.value
    puts Fetch::Background, Fetch::TimedBlock
  RUBY

  def test_a_refresh_while_another_thread_loads_the_time_limit
    output, = Open3.capture2e(RbConfig.ruby, "-I", LIB, "-e", SCRIPT)
    assert_equal "Tiercel::Store::Fetch::Background\nTiercel::Store::Fetch::TimedBlock\n", output
  end
end
