# frozen_string_literal: true

require "tiercel"

# The simplest complete backend, for tests that make one fail, count its calls or plant faults in it: a Hash and a lock,
# without a bound.
class RubyMemory < Tiercel::Backend
  Item = Struct.new(:bytes, :expires_at, :token)

  def initialize
    @lock = Monitor.new
    @items = {}
    @last_token = 0
    super
  end

  def get(key) = @lock.synchronize { live(key)&.bytes }

  def get_with_token(key)
    @lock.synchronize { live(key)&.then { |item| [item.bytes, item.token] } }
  end

  def set(key, bytes, ttl = nil)
    @lock.synchronize { store(key, bytes, end_of(ttl)) }
  end

  def add(key, bytes, ttl = nil)
    @lock.synchronize { live(key) ? false : store(key, bytes, end_of(ttl)) }
  end

  def compare_and_set(key, bytes, token, ttl = nil)
    @lock.synchronize { live(key)&.token == token && store(key, bytes, end_of(ttl)) }
  end

  def delete(key)
    @lock.synchronize { !live(key).nil? && !@items.delete(key.b).nil? }
  end

  def increment(key, amount = 1, ttl = nil)
    @lock.synchronize do
      item = live(key)
      count = item ? Tiercel::Counter.add(item.bytes, amount, key) : Tiercel::Counter.in_range(amount, key)
      store(key, count.to_s, item ? item.expires_at : end_of(ttl))
      count
    end
  end

  def touch(key, ttl)
    @lock.synchronize do
      item = live(key)
      item.expires_at = end_of(ttl) if item
      !item.nil?
    end
  end

  def scan(prefix = nil, &block)
    return enum_for(:scan, prefix) unless block
    keys = @lock.synchronize { @items.keys.select { |key| live(key) } }
    keys.each { |key| yield key if prefix.nil? || key.start_with?(prefix.b) }
    nil
  end

  def cleanup
    @lock.synchronize { @items.size.tap { @items.keys.each { |key| live(key) } } - @items.size }
  end

  def stats = { entries: @items.size }
  def in_memory? = true
  def to_s = "memory:"

  private

  def clear_all
    @lock.synchronize { @items.clear }
    nil
  end

  # Returns the item; removes an expired one and returns nil.
  def live(key)
    item = @items[key.b]
    return item unless item&.expires_at && item.expires_at <= Tiercel::Clock.now
    @items.delete(key.b)
    nil
  end

  def store(key, bytes, expires_at)
    @items[key.b.freeze] = Item.new(bytes.b.freeze, expires_at, @last_token += 1)
    true
  end

  def end_of(ttl) = ttl && (Tiercel::Clock.now + ttl)
end
