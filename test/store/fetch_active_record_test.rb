# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_record"
require "support/fetch_places"

# Blocks that query a database, over every backend: a waiting caller may hold a resource that the block needs.
class FetchActiveRecordTest < Tiercel::TestCase
  # Seconds that an application's thread waits for a connection; the test verifies that none waits.
  CHECKOUT_SECONDS = 60
  # A caller may wait for another one that is in a database transaction, but neither for a connection nor for a lease.
  BOUND = 40
  CALLERS = 50
  LOCKS_LET_RUN = Gem::Version.new("8.0")
  # Older Rails versions differ in Active Record, not in the backend.
  PLACES = ActiveRecord.version >= Gem::Version.new("8.1") ? FetchPlaces::SHARED : [:shared]

  class Row < ActiveRecord::Base
    self.table_name = "products"
  end

  def setup
    super
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: "#{dir}/rows.sqlite3", pool: 5,
                                            checkout_timeout: CHECKOUT_SECONDS, timeout: 20_000)
    ActiveRecord::Base.connection_pool.with_connection do |connection|
      connection.create_table(:products) { |table| table.integer :price }
      connection.execute("INSERT INTO products (price) VALUES (7)")
    end
    ActiveRecord::Base.connection_handler.clear_all_connections!
  end

  def teardown
    ActiveRecord::Base.remove_connection
    @stores&.each(&:close)
    super
  end

  PLACES.each do |place|
    define_method(:"test_#{place}_fifty_threads_share_five_connections") do
      store = store(place)
      runs = Queue.new
      took = seconds do
        values = in_threads(CALLERS) do
          store.fetch("price") { runs << 1; with_connection { sleep 0.05; Row.pick(:price) } }
        end
        assert_equal [7], values.uniq
      end
      assert_equal 1, runs.size
      assert_operator took, :<, BOUND
    end

    define_method(:"test_#{place}_inside_a_transaction_the_wait_for_another_process_is_short") do
      store = store(place)
      store.write("warm", 1)
      in_a_process_that_holds(store, "price") do
        value = nil
        took = seconds do
          value = ActiveRecord::Base.transaction { Row.update_all(price: 8); store.fetch("price") { 8 } }
        end
        assert_equal 8, value
        assert_operator took, :<, BOUND
      end
    end

    # The block needs a row that a waiting caller has locked.
    define_method(:"test_#{place}_a_locked_row_is_not_waited_for_in_a_cycle") do
      skip "Rails 7.2 waits for SQLite's locks while no other thread may run" if ActiveRecord.version < LOCKS_LET_RUN
      store = store(place)
      locked = Queue.new
      began = Queue.new
      holder = Thread.new { store.fetch("price") { began << 1; locked.pop; Row.update_all(price: 9) } }
      began.pop
      took = seconds do
        ActiveRecord::Base.transaction do
          Row.update_all(price: 8)
          locked << 1
          assert_equal(8, store.fetch("price") { 8 })
        end
        assert_equal 1, holder.value
      end
      assert_operator took, :<, BOUND
    end
  end

  private

  def store(place)
    @store ||= FetchPlaces.build(place, dir, lease: true, lease_ttl: 60).tap do |store|
      (@stores ||= []) << store
      store.clear
    end
  end

  def with_connection(&) = ActiveRecord::Base.connection_pool.with_connection(&)

  def in_threads(count)
    gate = Queue.new
    threads = Array.new(count) { Thread.new { gate.pop && yield } }
    count.times { gate << 1 }
    threads.map(&:value)
  end

  def in_a_process_that_holds(store, name)
    reader, writer = IO.pipe
    pid = fork do
      store.fetch(name) { writer.write("x"); sleep }
    ensure
      exit!(0)
    end
    reader.read(1)
    yield
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end
end
