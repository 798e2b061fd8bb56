# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel"
require "tiercel/account"
require "tiercel/memory_file"
require "support/zipf"

# The classes of keys: which ones are kept, and that they reveal no secrets.
class AccountClassesTest < Tiercel::TestCase
  def with_store(**options)
    with_tmpdir do |dir|
      store = Tiercel.new("shared:#{dir}/segment", **options)
      yield store, dir
    ensure
      store&.close
    end
  end

  def names(store) = store.account.classes.map { |one| one[:name] }

  # A request often reads its keys in the same order.
  def test_hits_of_keys_in_a_fixed_order_have_similar_shares
    with_store do |store|
      shares = Hash.new(0)
      store.account.define_singleton_method(:sampled) { |key, _weight| shares[key] += 1 }
      keys = %w[a b c d]
      keys.each { |key| store.write(key, "value") }
      (1_024 * 25).times { keys.each { |key| store.read(key) } }
      assert_includes 98..101, shares.values.sum
      keys.each { |key| assert_in_delta 25, shares[key], 10 }
    end
  end

  def test_parts_that_twenty_keys_share_are_shown
    with_store do |store|
      19.times { |index| store.read("user:#{index}:inbox") }
      assert_equal ["*:*:*"], names(store)
      2.times { |index| store.read("user:#{19 + index}:inbox") }
      assert_includes names(store), "user:*:inbox"
    end
  end

  def test_the_same_key_again_is_not_another_one
    with_store do |store|
      40.times { store.read("alice:inbox") }
      assert_equal ["*:*"], names(store)
    end
  end

  def test_templates_and_the_namespace_are_shown_at_once
    with_store(namespace: "shop") do |store|
      store.read("views/products/show:9a0364b9e99bb480dd25e1f0284c8555/products/7-20261122")
      assert_equal ["shop:views/products/show:*/*/*"], names(store)
    end
  end

  def test_a_namespace_and_a_key_of_different_encodings
    with_store(namespace: "\u00fc") do |store|
      store.read("\xFF:1".b)
      store.account.flush
      assert_equal 1, names(store).size
    end
  end

  def test_processes_share_what_they_have_learned
    with_store do |store|
      21.times { |index| store.read("order:#{index}") }
      store.account.flush
      learned = fork_and_wait(1) do
        store.read("order:100")
        names(store)
      end.first
      assert_includes learned, "order:*"
      assert_equal 3, store.account.classes.find { |one| one[:name] == "order:*" }[:misses]
    end
  end

  SECRETS = {
    email: ->(number) { "person#{number}@example#{number % 7}.com" },
    token: ->(number) { Digest::SHA256.hexdigest("t#{number}")[0, 32] },
    slug: ->(number) { "my-private-article-number-#{number}-of-a-long-title" },
    address: ->(number) { "10.#{number % 250}.#{number / 250}.7" },
    card: ->(number) { format("4111%012d", number) },
  }.freeze

  # Puts each secret into keys of several shapes, 30 times each.
  def plant(store, secrets)
    secrets.each_with_index do |secret, index|
      key = ["user:#{secret}:inbox", "#{secret}", "views/#{secret}/x", "a=#{secret}&b=2"][index % 4]
      store.fetch(key) { secret }
    end
    secrets.first(40).each { |secret| 30.times { |index| store.read("user:#{secret}:page:#{index}") } }
  end

  def test_secrets_in_keys_are_nowhere
    secrets = SECRETS.values.flat_map { |secret| Array.new(2_000) { |number| secret.call(number) } }
    with_store do |store|
      plant(store, secrets)
      store.account.flush
      account = store.account
      seen = [File.binread(account.path).delete("\0"), account.classes.inspect, account.totals.inspect,
              account.minutes.inspect, Tiercel::Metrics.to_prometheus(store)].map(&:b)
      found = secrets.select { |secret| seen.any? { |text| text.include?(secret.b) } }
      assert_empty found
      assert_includes names(store), "user:*:inbox"
    end
  end

  # A thousand misses per second, with classes by Zipf's law, each together with a miss of a unique slug.
  def test_the_ten_costliest_classes_are_found_beside_a_hundred_thousand_slugs
    with_store do |store|
      random = Random.new(7)
      requests = Zipf.new(500, exponent: 1.0).requests(100_000)
      requests.each_slice(1_000).with_index do |names, second|
        travel(second) { names.each { |name| miss(store.account, name, random) } }
      end
      expected = requests.tally.max_by(10) { |_, count| count }.map { |name, _| "#{name}/*" }
      found = store.account.classes(:hour, limit: 10).map { |one| one[:name] }
      assert_operator (expected & found).size, :>=, 9, [expected, found].inspect
    end
  end

  # Misses like a `fetch` with a block of one millisecond.
  def miss(account, name, random)
    key = "#{name}/#{random.rand(1 << 30)}"
    account.missed(key)
    account.send(:computed, key, 1_000_000)
    account.missed("#{random.hex(6)}-slug-#{random.hex(4)}")
  end

  def test_a_full_table_keeps_the_costly_ones
    medium = Tiercel::MemoryFile.new("\0".b * Tiercel::Account::ClassTable::BYTES)
    table = Tiercel::Account::ClassTable.new(medium, 0)
    cost = ->(seconds) { Tiercel::Account::ClassTable::Cost.new(1, seconds, 0, seconds) }
    10.times { |number| table.add({ "costly#{number}" => cost.call(10.0) }, 1_000_000) }
    3_000.times { |number| table.add({ "cheap#{number}" => cost.call(0.001) }, 1_000_000) }
    all = table.all(:day, 1_000_000)
    assert_equal 1_000, all.size
    assert_equal 10, all.count { |one| one[:name].start_with?("costly") }
  end

  # The name of a class is cut off after 151 bytes, in the middle of a character perhaps.
  def test_a_long_namespace_of_other_letters
    with_store(namespace: "\u00fc" * 80) do |store|
      store.read("key")
      assert_equal ["#{"\u00fc" * 75}\uFFFD"], names(store)
    end
  end

  def test_hours_and_days_pass
    medium = Tiercel::MemoryFile.new("\0".b * Tiercel::Account::ClassTable::BYTES)
    table = Tiercel::Account::ClassTable.new(medium, 0)
    now = 3_600 * 1_000
    table.add({ "a" => Tiercel::Account::ClassTable::Cost.new(3, 1.5, 0, 1.0) }, now)
    assert_equal [3, 1.5], table.all(:hour, now + 3_000).first.values_at(:misses, :seconds)
    assert_empty table.all(:hour, now + 3_700)
    assert_equal 3, table.all(:day, now + 80_000).first[:misses]
    assert_empty table.all(:day, now + 90_000)
    table.add({ "a" => Tiercel::Account::ClassTable::Cost.new(1, 0.5, 0, 0.5) }, now + 40_000)
    assert_equal [4, 2.0], table.all(:day, now + 40_000).first.values_at(:misses, :seconds)
    assert_equal 1, table.all(:hour, now + 40_000).first[:misses]
  end

  def test_the_table_is_small
    assert_operator Tiercel::Account::Rounds::BYTES, :<, 4 << 20
    assert_operator Tiercel::Account::ClassTable::BYTES, :<, 1 << 20
  end

  def test_hostile_keys
    with_store(max_key_size: false) do |store|
      ["<script>alert(1)</script>", "\e[31mred\e[0m", "\xFF\xFE:\x00", "x" * 10_000_000, "\u202Eevil", "a\nb", "",
       "é:ü", "::::", "\u2028"].each { |key| 25.times { |index| store.read("#{key}:#{index}") rescue nil } }
      store.account.flush
      names(store).each { |name| assert_match(/\A[ -~]{0,160}\z/, name) }
      refute(names(store).any? { |name| name.include?("<") })
    end
  end
end
