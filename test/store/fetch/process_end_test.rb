# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "open3"

# Blocks in other threads when a process exits or forks. Each test runs a Ruby process that ends like an application.
class ProcessEndTest < Tiercel::TestCase
  LIB = File.expand_path("../../../lib", __dir__)
  PATIENCE = 20

  HEAD = <<~'RUBY'
    require "active_support/cache/tiercel_store"
    require "contracts/moved_clock"
    STDOUT.sync = true
    I18n.backend # loads more code, which a fork must not interrupt
    store = Tiercel.new("file:#{ARGV.first}", lease: true, lease_ttl: 600, timeout: 20,
                        stale_while_revalidate: 600)
    later = ->(&block) { Tiercel::Contracts::MovedClock.by(61, &block) }
    refresh = ->(name, &block) { store.fetch(name, expires_in: 3600, refresh: :background, &block) }
  RUBY

  def setup
    super
    @store = Tiercel.new("file:#{dir}", lease: true)
  end

  def teardown
    @store.close
    super
  end

  def test_what_runs_in_the_background_is_finished
    run_script(<<~'RUBY')
      5.times { |index| store.fetch("name/#{index}", expires_in: 60) { "old" } }
      later.call do
        5.times { |index| refresh.call("name/#{index}") { sleep 0.02; "new" } }
        exit
      end
    RUBY
    assert_equal ["new"] * 5, Array.new(5) { |index| @store.read("name/#{index}") }
  end

  def test_what_does_not_end_is_not_waited_for
    output = run_script(<<~'RUBY')
      2.times do |index|
        store.fetch("name/#{index}", expires_in: 60) { "old" }
        later.call { refresh.call("name/#{index}") { sleep } }
      end
      puts "left"
    RUBY
    assert_equal "left\n", output
  end

  def test_a_child_has_none_of_its_parents_refreshes_and_does_its_own
    output = run_script(<<~'RUBY')
      4.times { |index| store.fetch("name/#{index}", expires_in: 60) { "old" } }
      gate = Queue.new
      later.call do
        3.times { |index| refresh.call("name/#{index}") { gate.pop; puts "#{index} in #{$$ == Process.pid}"; $$ } }
        parent = Process.pid
        child = fork do
          refresh.call("name/3") { Process.pid }
          sleep 0.01 until store.read("name/3")
          puts [parent == store.read("name/3"), Tiercel::Fetch::Refresh.drain].inspect
        end
        Process.wait(child)
        3.times { gate << 1 }
        sleep 0.01 until 3.times.all? { |index| store.read("name/#{index}") }
        puts 3.times.all? { |index| store.read("name/#{index}") == parent }
      end
    RUBY
    first, *refreshed, last = output.lines(chomp: true)
    assert_equal ["[false, nil]", "true"], [first, last]
    assert_equal ["0 in true", "1 in true", "2 in true"], refreshed.sort
  end

  def test_a_child_runs_none_of_its_parents_blocks
    output = run_script(<<~'RUBY')
      began, gate = Queue.new, Queue.new
      slow = Thread.new { store.fetch("slow", expires_in: 60) { began << 1; gate.pop } }
      began.pop
      Process.wait(fork { store.fetch("own") { 1 } && puts("afterwards #{store.stats[:flights]}") })
      store.fetch("outer", expires_in: 60) { Process.wait(fork { store.write("outer", 1) && puts("within") }) }
      puts "here #{store.stats[:flights]}"
      gate << 1
      slow.join
      puts "then #{store.stats[:flights]}"
    RUBY
    assert_equal ["afterwards 0", "within", "here 1", "then 0"], output.lines(chomp: true)
  end

  def test_a_child_that_ends_gives_no_lease_of_its_parent_back
    output = run_script(<<~'RUBY')
      began, gate = Queue.new, Queue.new
      slow = Thread.new { store.fetch("slow", expires_in: 3600) { began << 1; gate.pop; "made" } }
      began.pop
      Process.wait(fork { store.read("slow") })
      leases = store.instance_variable_get(:@settings).leases
      puts leases.acquire(leases.own("slow", 10.0, nil)) { nil }.mine? ? "the lease was free" : "taken"
      gate << 1
      puts slow.value
    RUBY
    assert_equal "taken\nmade\n", output
    assert_equal "made", @store.read("slow")
  end

  private

  # @return [String] the output
  def run_script(code)
    output, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-I#{LIB}/../test", "-e", HEAD + code, dir)
    assert status.success?, output
    output
  end
end
