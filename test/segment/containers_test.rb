# frozen_string_literal: true
# suites: store

require "test_helper"
require "open3"
require "rbconfig"
require_relative "../support/small_volume"

# The setup in docs/platforms.md: containers of one host share a directory in memory. Each container here has its own
# mount namespace, /dev/shm and process ids.
class SegmentContainersTest < Tiercel::TestCase
  LIB = File.expand_path("../../lib", __dir__)
  CONTAINER = <<~SH
    mount -t tmpfs -o size=1m tiercel-test /dev/shm && mount --bind "$0" "$1" && shift && exec "$@"
  SH
  COUNTING = <<~'RUBY'
    store.write("from #{ARGV[1]}", Process.pid)
    500.times { store.increment("count") }
    sleep 0.01 until store.read_counter("count") == 1_000
    other = ARGV[1] == "web" ? "job" : "web"
    puts "#{store.read_counter("count")} #{store.read("from #{other}").class} #{Dir.children("/dev/shm").size}"
  RUBY
  HOLDING = 'store.fetch("leased", lease_ttl: 600) { puts "holding"; $stdout.flush; sleep }'
  TAKING_OVER = 'puts store.fetch("leased", lease_ttl: 600) { "taken over" }'

  def setup
    skip "mounting needs root" unless SmallVolume.available?
    skip "no pid namespaces" unless system("unshare", "--mount", "--pid", "--fork", "true", err: File::NULL)
  end

  def test_two_containers_have_one_cache
    on_a_host do |host|
      answers = %w[web job].map { |name| Thread.new { run_in(host, name, COUNTING) } }.map(&:value)
      assert_equal ["1000 Integer 0\n"] * 2, answers
    end
  end

  # The containers do not see each other's processes, so the lock reveals that one has ended.
  def test_a_container_that_is_killed_holds_up_nobody
    on_a_host do |host|
      IO.popen(command(host, "web", HOLDING), pgroup: true) do |web|
        assert_equal "holding\n", web.gets
        Process.kill(:KILL, -web.pid)
        assert_equal "taken over\n", run_in(host, "job", TAKING_OVER)
      end
    end
  end

  private

  # @yieldparam host [Array<String>] the host's directory, and its path in the containers
  def on_a_host
    SmallVolume.open("32m") do |volume|
      with_tmpdir do |folder|
        shop = File.join(volume, "shop")
        Dir.mkdir(shop, 0o700)
        Dir.mkdir(File.join(folder, "cache"))
        yield [shop, File.join(folder, "cache")]
      end
    end
  end

  def command(host, name, code)
    directory, seen_as = host
    code = "store = Tiercel.new(\"shared:\#{ARGV[0]}/segment\", size: \"8MB\")\n#{code}"
    ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", CONTAINER, directory, seen_as,
     RbConfig.ruby, "-I#{LIB}", "-rtiercel", "-e", code, seen_as, name]
  end

  def run_in(host, name, code)
    output, status = Open3.capture2e(*command(host, name, code))
    assert_predicate status, :success?, output
    output
  end
end
