# frozen_string_literal: true

# Derives the generations of tags from a seed, so that two runs of a call create the same ones.
module StoppedChance
  class << self
    # @return [Random, nil] the source of the bytes; nil for the system
    attr_accessor :source

    # @return [Object] the block's value
    def at(seed)
      self.source = Random.new(seed)
      yield
    ensure
      self.source = nil
    end
  end

  # Requests for other sizes come from other code, such as ids of notifications, and their number varies.
  def urandom(size)
    return super unless StoppedChance.source && size == Tiercel::Store::Tags::Named::GENERATION_BYTES
    StoppedChance.source.bytes(size)
  end
end

Random.singleton_class.prepend(StoppedChance)
