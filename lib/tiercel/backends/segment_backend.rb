# frozen_string_literal: true

require_relative "../segment"

# The common part of `shared:` and `memory:`: adapts a {Segment} to the contract of {Backend}.
class Tiercel::Backends::SegmentBackend < Tiercel::Backend
  # @return [Segment] the segment, for calls outside the contract
  attr_reader :segment

  # @param segment [Segment]
  def initialize(segment)
    @segment = segment
    super()
  end

  def get(key) = @segment.get(key)
  def get_multi(keys) = @segment.get_multi(keys)
  def get_with_token(key) = @segment.get_with_token(key)
  def set(key, bytes, ttl = nil) = @segment.set(key, bytes, ttl)
  def set_multi(pairs, ttl = nil) = @segment.set_multi(pairs, ttl)
  def add(key, bytes, ttl = nil) = @segment.add(key, bytes, ttl)
  def compare_and_set(key, bytes, token, ttl = nil) = @segment.compare_and_set(key, bytes, token, ttl)
  def delete(key) = @segment.delete(key)
  def delete_multi(keys) = @segment.delete_multi(keys)
  def increment(key, amount = 1, ttl = nil) = @segment.increment(key, amount, ttl)
  def touch(key, ttl) = @segment.touch(key, ttl)
  def scan(prefix = nil, &) = @segment.scan(prefix, &)
  def stats = @segment.stats
  def close = @segment.close
  def in_memory? = true

  # Compression is enabled for values above this fraction of the segment (adr/014).
  COMPRESS_SHARE = 256
  private_constant :COMPRESS_SHARE

  # @return [Integer] default minimum size in bytes for compression: a fraction of the segment's size, if the
  #   segment exists
  def compress_threshold_bytes
    return super unless @segment.is_a?(Tiercel::Segment)
    [super, @segment.size_bytes / COMPRESS_SHARE].max
  end

  # @private
  # @see Backend#build_accessor
  def build_accessor(guard, coder, frozen: false, **)
    return Tiercel::Accessor::Segment.new(self, guard, coder, frozen:) if coder.encrypts?
    (frozen ? Tiercel::Accessor::Frozen : Tiercel::Accessor::Native).new(self, guard, coder)
  end

  # @private
  # @see Backend#build_leases
  def build_leases(guard) = Tiercel::Leases::Segment.new(@segment, guard)

  # A scan finds no key that has only a lease, so a delete by scan releases all leases.
  #
  # @return [void]
  def end_leases = @segment.end_leases

  def clear(prefix = nil)
    prefix ? @segment.clear_prefix(prefix) : @segment.clear
    nil
  end
end
