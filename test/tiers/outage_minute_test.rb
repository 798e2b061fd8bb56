# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/network"
require "tiercel/lab/servers"

# Redis does not answer for a minute of real time. Two machines with two processes each continue to read, fetch, write
# and delete.
class TiersOutageMinuteTest < Tiercel::TestCase
  SECONDS = 60
  TRUST = 3.0
  # Slack in seconds for a process that waits for the CPU.
  SLACK = 0.3
  KEYS = 10 # number of keys that are read, and of keys that are fetched
  CHANGED = 600 # keys of each machine: one half is deleted, the other half written
  OLD = "old"
  Clock = Tiercel::Clock

  def setup
    @dir = Dir.mktmpdir("tiercel-minute-")
    @server = Tiercel::Lab::Servers::Redis.new.start
    @proxy = Tiercel::Lab::Network::Proxy.new(@server).start
  end

  def teardown
    @proxy.stop
    @server.stop
    FileUtils.rm_rf(@dir)
  end

  def build(name, url = @proxy.url, **options)
    ActiveSupport::Cache::TiercelStore.new("shared:#{@dir}/#{name}?size=4MB&ttl=600", url, timeout: 0.25,
                                                                                           error_handler: ->(**) {},
                                                                                           **options)
  end

  # The work of one process.
  class Client
    def initialize(number, dir, store, patient, bare)
      @machine = number % 2
      @leads = number < 2
      @dir = dir
      @store = store
      @patient = patient
      @bare = bare
      @changes = (@machine * CHANGED...(@machine + 1) * CHANGED).to_a
      @result = { number:, near: [], late: Hash.new(0), runs: [], too_old: [], came_back: [], calls: 0 }
    end

    def run
      names = Array.new(KEYS) { |number| "near #{number}" }
      warm(names)
      File.write("#{@dir}/ready #{@result[:number]}", "")
      away_at = told("away")
      step(Clock.monotonic - away_at) until File.exist?("#{@dir}/back")
      finish
      @result
    end

    private

    def told(name)
      sleep 0.002 until File.size?("#{@dir}/#{name}")
      File.read("#{@dir}/#{name}").to_f
    end

    def warm(names)
      [@store, @patient].each do |store|
        names.each { |name| sleep 0.01 until store.read(name) == OLD && store.backend.near.get("app:#{name}") }
      end
    end

    def step(age)
      @result[:calls] += 1
      name = "near #{rand(KEYS)}"
      @result[:near] << [age, @store.read(name)]
      @result[:late][@patient.read(name)] += 1
      fetch
      change if @leads && (@result[:calls] % 2).zero?
      @bare&.clear if @leads && @result[:calls] == 300
      sleep 0.02
    end

    def fetch
      now = Clock.monotonic
      key = rand(KEYS)
      began = @store.fetch("hot #{key}", expires_in: 600) do
        Clock.monotonic.tap { |time| @result[:runs] << [@machine, key, time] }
      end
      @result[:too_old] << (now - began) if now - began > TRUST + 0.02
    end

    def change
      number = @changes[@changed = @changed.to_i + 1] or return
      number.even? ? @store.delete("changed #{number}") : @store.write("changed #{number}", "new")
      look(number)
    end

    def look(number)
      found = @store.read("changed #{number}")
      @result[:came_back] << number if found == OLD
    end

    # Runs once the server is back: its first results are decisive.
    def finish
      deadline = Clock.monotonic + 30
      changed = @leads ? @changes[1..@changed] : @changes[1..100]
      until @store.read("near 0") == OLD || Clock.monotonic > deadline
        look(changed.sample)
        sleep 0.005
      end
      changed.each { |number| look(number) }
      @result[:changed] = @leads ? changed : []
      @result[:answers] = @store.read("near 0")
    end
  end

  # A stopped server executes the requests that it received meanwhile when it continues, including a `clear` without a
  # namespace.
  def client(number)
    machine = "machine #{number % 2}"
    Client.new(number, @dir, build(machine, namespace: "app"),
               build("#{machine} patient", namespace: "app", stale_if_error: 600),
               (build("#{machine} bare") unless @hears_later))
  end

  def prepare
    plain = ActiveSupport::Cache::TiercelStore.new(@server.url, namespace: "app")
    names = Array.new(KEYS) { |number| "near #{number}" } + Array.new(CHANGED * 2) { |number| "changed #{number}" }
    plain.write_multi(names.to_h { |name| [name, OLD] })
    @server.command("SET", "somebody else's", "value")
    plain
  end

  # @yieldparam away [Boolean]
  def conduct
    sleep 0.01 until Dir.glob("#{@dir}/ready *").size == 4
    File.write("#{@dir}/away.new", Clock.monotonic.to_s)
    yield true
    File.rename("#{@dir}/away.new", "#{@dir}/away")
    sleep SECONDS
    yield false
    File.write("#{@dir}/back", "now")
  end

  def a_minute(&)
    skip "a minute: --long" unless long?
    plain = prepare
    conductor = Thread.new { conduct(&) }
    results = fork_and_wait(4, within: SECONDS * 4) { |number| client(number).run }
    results.each { |result| check(result) }
    runs = check_runs(results)
    check_afterwards(plain, results)
    puts "outage: #{results.sum { |result| result[:calls] }} rounds, #{runs.size} blocks, " \
         "#{results.sum { |result| result[:changed].size }} keys changed"
  ensure
    conductor&.kill&.join
  end

  def check(result)
    early, late = result[:near].partition { |age, _| age <= TRUST + SLACK }
    assert_includes early.filter_map { |age, value| value if age < 2 }, OLD, "near copies do not answer"
    assert_empty late.filter_map { |age, value| age if value }.first(5), "near copies answer for too long"
    assert_equal [OLD], result[:late].keys, "with stale_if_error"
    assert_empty result[:too_old].first(5), "what was computed is given for too long"
    assert_empty result[:came_back].first(5), "what was changed comes back"
    assert_equal OLD, result[:answers]
  end

  # Expects one block per machine and key, and another one whenever the value may be too old.
  def check_runs(results)
    runs = results.flat_map { |result| result[:runs] }
    runs.group_by { |machine, key, _| [machine, key] }.each do |of, of_one|
      assert_operator of_one.size, :<=, (SECONDS / TRUST) + 6, "blocks of #{of.inspect}"
    end
    runs
  end

  def check_afterwards(plain, results)
    changed = results.flat_map { |result| result[:changed] }
    assert_operator changed.size, :>, CHANGED
    assert_empty plain.read_multi(*changed.map { |number| "changed #{number}" })
    rest = (0...CHANGED * 2).to_a - changed
    assert_equal rest.size, plain.read_multi(*rest.map { |number| "changed #{number}" }).size
    assert_equal "value", @server.command("GET", "somebody else's")
    assert_equal KEYS, plain.read_multi(*Array.new(KEYS) { |number| "near #{number}" }).size
  end

  def test_a_server_that_is_stopped
    @hears_later = true
    a_minute { |away| away ? @server.pause : @server.resume }
  end

  def test_connections_that_are_cut
    a_minute { |away| away ? @proxy.change(refuse: true) && @proxy.cut : @proxy.heal }
  end
end
