# frozen_string_literal: true

require_relative "../support/lab_case"
require "tiercel/lab"
require "tiercel/lab/network"
require "tiercel/lab/servers"

# The timed part of a store with tiers begins when it keeps near copies.
class NearCopiesTest < LabCase
  NearCopies = Lab::Contestants::NearCopies

  def teardown
    @subject&.close
    @server&.stop
    FileUtils.rm_rf(@folder) if @folder
  end

  def subject(text)
    skip "Redis is not installed" unless Lab::Servers::Redis.installed?
    @server ||= Lab::Servers::Redis.new.start
    @folder ||= Dir.mktmpdir("tiercel-near-")
    folders = { tmpfs: @folder, disk: @folder }
    context = { servers: { redis: { "url" => @place || @server.url } }, folders:, label: "near" }
    @subject = Lab::Load::Subject.new(text:, context:,
                                       entries: Lab::Load::Entries.new(label: "near", seed: 1, items: 2, bytes: 10))
  end

  def test_a_store_is_handed_out_when_copies_are_trusted
    store = subject("tiercel:memory: redis:").store
    assert store.stats[:tiers].values.first[:bus][:trusted]
  end

  # The invalidation messages of writes remove the copies that the writes left.
  def test_what_is_filled_lies_in_the_nearest_tier
    store = subject("tiercel:memory: shared: redis:").store
    names = Array.new(50) { |index| "tiercel-lab:near:#{index}" }
    names.each { |name| store.write(name, "value") }
    assert NearCopies.fill(store, names)
    tiers = []
    ActiveSupport::Notifications.subscribed(->(*, event) { tiers << event[:tier] }, NearCopies::EVENT) do
      names.each { |name| store.read(name) }
    end
    assert_equal [store.stats[:tiers].keys.first], tiers.uniq
  end

  # Without waiting, the writes' copies would disappear during the reads.
  def test_what_was_filled_stays_near_though_its_news_comes_late
    subject("tiercel:memory: redis:").close
    Lab::Network::Proxy.run(@server) do |proxy|
      @place = proxy.url
      subject("tiercel:memory: redis:")
      proxy.change(hold: true, only: "tracking")
      released = false
      late = Thread.new { sleep(0.1) && (released = true) && proxy.restore }
      @subject.fill
      assert released, "it waits for the news of its writes"
      @subject.verify
      assert NearCopies.fill(@subject.store, @subject.entries.names, patience: 0.0), "one reading has filled all"
    ensure
      late&.join
      @subject&.close
      @subject = nil
    end
  end

  def test_what_does_not_stay_near
    store = subject("tiercel:memory:?ttl=0.000001 redis:").store
    store.write("name", "value")
    refute NearCopies.fill(store, ["name"], patience: 0.02)
    assert NearCopies.fill(ActiveSupport::Cache::MemoryStore.new, ["name"])
  end
end
