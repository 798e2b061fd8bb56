# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/cluster_machines"

# What a machine hears of others' changes on every node of a Redis Cluster, and when it trusts what it has heard.
class TiersBusClusterTest < Tiercel::TestCase
  include ClusterMachines

  def test_what_another_machine_changes_on_any_node_is_seen
    stores = [listening(machine(:one)), listening(machine(:two, front: "memory:"))]
    keys = key_of_each(server).values
    assert_equal [60.0, 60.0], stores.map { |store| store.backend.near.ttl }
    { write: [->(store, key) { store.write(key, "new") }, "new"], delete: [->(store, key) { store.delete(key) }, nil],
      expire: [->(store, key) { store.write(key, "short", expires_in: 0.05) }, nil] }.each_value do |change, value|
      stores.permutation.each do |writer, reader|
        keys.each { |key| writer.write(key, "old") }
        keys.each { |key| near(reader, key, "old") }
        keys.each { |key| change.call(writer, key) }
        keys.each { |key| seen(reader, key, value) }
      end
    end
    assert_equal [1, 1], stores.map { |store| gaps(store) }
  end

  def test_what_happens_to_one_node_alone_is_seen
    store = listening(machine(:one))
    keys = key_of_each(server)
    [%w[FLUSHALL], %w[DEL KEY]].each do |command|
      keys.each do |node, key|
        keys.each_value { |each| store.write(each, "old") }
        keys.each_value { |each| near(store, each, "old") }
        node.command(*command.map { |word| word == "KEY" ? key : word })
        seen(store, key, nil)
        assert_equal ["old"], (keys.values - [key]).map { |other| store.read(other) }.uniq
      end
    end
    assert_equal 1, gaps(store)
  end

  # Nobody else is told of them on the way, and they leave nothing.
  def test_a_heartbeat_is_a_key_of_each_node
    store = listening(machine(:one))
    3.times { heard(store) }
    server.nodes.each { |node| node.command("SET", "\xFF{others}", "", "PX", 1) }
    heard(store)
    store.close
    wait_until("heartbeats to be gone") { server.nodes.all? { |node| node.command("DBSIZE") == "0" } }
    assert_equal 1, gaps(store)
  end

  def test_threads_and_connections_end_with_the_store_and_begin_again
    before = Thread.list
    store = listening(machine(:one))
    started = Thread.list - before
    assert_equal ["tiercel bus", *["tiercel listener"] * 3], started.map(&:name).sort
    started.find { |thread| thread.name == "tiercel listener" }.kill
    wait_until("another subscription") { gaps(store) == 2 }
    store.close
    assert_empty Thread.list - before
    wait_until("connections to end") do
      server.nodes.none? { |node| node.command("CLIENT", "LIST").include?("resp=3") }
    end
    listening(store)
  end

  # @return [Array] another machine's store; one that listens through proxies and has a copy ("old") of a key of each
  #   node; these keys by their nodes
  def copies_through_proxies
    other = listening(machine(:two))
    keys = key_of_each(server)
    keys.each_value { |key| other.write(key, "old") }
    store = listening(listen_through_proxies(machine(:one)))
    keys.each_value { |key| near(store, key, "old") }
    [other, store, keys]
  end

  def test_a_cut_of_one_connection_ends_trust_in_all_copies
    other, store, keys = copies_through_proxies
    node, key = keys.first
    proxy(node).change(refuse: true)
    proxy(node).cut
    other.write(key, "new")
    assert_equal "old", store.read(key) # nobody could tell it
    cut = coverage(store).now
    proxy(node).heal
    listening_again(store, cut)
    seen(store, key, "new", within: 0)
    assert_equal 1, gaps(other)
  end

  # What it said may be old: a node of it may have been another's master since.
  def test_after_a_cut_the_layout_of_before_is_not_used
    store = listening(listen_through_proxies(machine(:one)))
    node = node_of(server, "nothing")
    kept = calling(node)
    proxy(node).change(refuse: true)
    proxy(node).cut
    store.read("nothing")
    assert_equal kept, calling(node)
    cut = coverage(store).now
    proxy(node).heal
    listening_again(store, cut)
    store.read("nothing")
    assert_equal 1, (calling(node) - kept).size
    kept = calling(node)
    store.read("nothing")
    assert_empty calling(node) - kept
  end

  # @return [Array<String>] of the connections that reads go through
  def calling(node)
    node.command("CLIENT", "LIST").lines.grep(/cmd=get /).filter_map { |line| line[/\bid=(\d+)/, 1] }
  end

  def test_what_one_node_tells_late_is_not_trusted_meanwhile
    other, store, keys = copies_through_proxies
    node, key = keys.first
    proxy(node).change(hold: true)
    coverage(store).trust = 0.4
    other.write(key, "new")
    wait_until("distrust", within: 2) { !coverage(store).trusted? }
    keys.each_value { |each| assert_nil store.backend.get_near(each) }
    assert_equal "new", store.read(key)
    assert_nil store.backend.get_near(key), "nothing is filled meanwhile"
    coverage(store).trust = 3
    proxy(node).heal
    seen(store, key, "new")
    near(store, key, "new")
  end

  def test_processes_of_one_machine_cover_each_other
    store = listening(machine(:one, interval: 0.3))
    keys = key_of_each(server).values
    keys.each { |key| store.write(key, "value") }
    keys.each { |key| near(store, key, "value") }
    ready, go = IO.pipe
    child = Process.fork do
      own = machine(:one, front: "memory:", interval: 0.3)
      own.read("nothing")
      wait_until { own.backend.near.coverage.trusted? }
      go.write("x")
      sleep
    ensure
      exit!
    end
    go.close
    ready.readchar
    assert_equal 1, gaps(store), "one who begins later puts nothing away"
    store.close
    one = listening(machine(:one, interval: 0.3))
    heard(one) # from the child
    Process.kill(:KILL, child)
    Process.wait(child)
    heard(one)
    server.nodes.each { |node| node.command("FLUSHALL") }
    keys.each { |key| seen(one, key, nil) }
    assert_equal 1, gaps(one), "the one that is left goes on"
  ensure
    ready.close
  end

  def test_a_forked_child_listens_for_itself
    store = listening(machine(:one, front: "memory:"))
    key = key_of_each(server).values.last
    store.write(key, "old")
    near(store, key, "old")
    assert_equal [true], fork_and_wait(1) {
      store.read("nothing")
      wait_until("the child to have heard for itself") { store.backend.near.coverage.stats[:gaps] == 2 }
      near(store, key, "old")
      node_of(server, key).command("DEL", key)
      wait_until("a delete to be seen", within: SOON) { store.read(key).nil? }
      Tiercel.new(server.url, timeout: 5).write(key, "new")
      near(store, key, "new")
    }
    seen(store, key, "new")
  end

  def test_a_slot_that_moves_between_nodes_that_are_listened_to_is_no_gap
    store = listening(machine(:one))
    from = node_of(server, "{0}")
    to = (server.nodes - [from]).first
    store.write("{0}key", "value")
    near(store, "{0}key", "value")
    server.nodes.each { |node| node.command("FLUSHALL") } # only an empty slot can be handed over
    hand_over(slot("{0}"), from, to, server.nodes)
    heard(store)
    store.write("{0}key", "old")
    near(store, "{0}key", "old")
    to.command("DEL", "{0}key")
    seen(store, "{0}key", nil)
    [to, from].each { |node| node.command("CLUSTER", "SETSLOT", slot("{0}"), "STABLE") }
    # On its way, it has keys on both nodes.
    from.command("CLUSTER", "SETSLOT", slot("{0}"), "IMPORTING", id(to))
    to.command("CLUSTER", "SETSLOT", slot("{0}"), "MIGRATING", id(from))
    heard(store)
    assert_equal 1, gaps(store)
  ensure
    hand_over(slot("{0}"), to, from, server.nodes)
  end

  # News of that comes before the answer to what is asked at the begin.
  def test_it_begins_while_others_write
    keys = key_of_each(server)
    writer = Process.fork do
      pipes = keys.map { |node, key| [RedisClient.new(host: node.host, port: node.port), ["SET", key, "x"]] }
      loop { pipes.each { |client, set| client.pipelined { |pipe| 20.times { pipe.call_v(set) } } } }
    end
    last = machine(:one).backend.last
    40.times { assert_equal 3, ports_of(last.subscription.open).size }
  ensure
    Process.kill(:KILL, writer)
    Process.wait(writer)
  end

  # It neither tells of anything nor answers; the others do.
  def test_while_a_master_hangs_no_copy_is_trusted
    store = listening(machine(:one))
    keys = key_of_each(server)
    keys.each_value { |key| store.write(key, "value") }
    keys.each_value { |key| near(store, key, "value") }
    coverage(store).trust = 0.5
    node, kept = keys.keys.first, keys.values.last
    node.pause
    wait_until("distrust", within: 2) { !coverage(store).trusted? }
    assert_nil store.backend.get_near(kept)
    assert_equal "value", store.read(kept)
    assert_nil store.backend.get_near(kept)
    node.resume
    heard(store)
    near(store, kept, "value")
  ensure
    node&.resume
  end

  def test_a_url_of_replicas_and_of_nodes_that_are_away_or_of_no_cluster
    replica = replicate(server, server.nodes.first)
    lone = Node.new.start
    @added << lone
    places = [lone, replica].map { |node| "#{node.host}:#{node.port}" }
    store = machine(:one, cluster: Struct.new(:url).new("redis+cluster://127.0.0.1:1,#{places.join(",")}"))
    3.times { assert_equal server.ports.sort, ports_of(store.backend.last.subscription.open) }
  ensure
    server.nodes.each { |node| node.command("CLUSTER", "FORGET", id(replica)) }
  end

  def ports_of(subscription)
    subscription.streams.map { |node| node.instance_variable_get(:@client).config.port }.sort
  ensure
    subscription.close
  end

  def test_users_who_may_not_ask_who_the_masters_are
    server.nodes.each do |node|
      node.command("ACL", "SETUSER", "limited", "reset", "on", ">secret", "~*", "&*", "+@all", "-cluster|nodes")
    end
    reports = []
    store = Machines.instance_method(:machine).bind_call(
      self, :limited, url: server.url.sub("//", "//limited:secret@"), error_handler: ->(**one) { reports << one }
    )
    store.read("key")
    wait_until("the bus to be given up") { store.backend.near.ttl == 1.0 }
    wait_until("a report") { reports.any? }
    assert_equal [[:listen, Tiercel::Refused]], reports.map { |report| [report[:method], report[:exception].class] }
  ensure
    server.nodes.each { |node| node.command("ACL", "DELUSER", "limited") }
  end
end
