# frozen_string_literal: true

require "tiercel"

# A near tier in front of a Hash.
module NearTier
  # Plays the role of the last tier.
  class Behind
    attr_reader :bytes

    def initialize = @bytes = {}
    def get(key) = @bytes[key]
    def set(key, value) = (@bytes[key] = value) && true
  end

  def setup
    @near = Tiercel::Tiers::Near.new(Tiercel::Backends::MemorySegment.build(nil, {}), ttl: 60)
    @behind = Behind.new
  end

  def frame(text, **) = Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_STRING_UTF_8, text, **)

  def write(text, key: "key", &)
    @near.change([key], frame(text), nil) do
      yield if block_given?
      @behind.set(key, frame(text))
    end
  end

  def read(key: "key") = @near.get(key) || @near.filled(key) { @behind.get(key) }
end
