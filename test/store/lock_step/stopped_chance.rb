# frozen_string_literal: true

# Has generations of tags come out of a seed, so that two runs of one call begin the same ones.
module StoppedChance
  class << self
    # @return [Random, nil] where the bytes come from; nil for the system
    attr_accessor :source

    # @return [Object] the block's value
    def at(seed)
      self.source = Random.new(seed)
      yield
    ensure
      self.source = nil
    end
  end

  # Others ask for other sizes: the ids of notifications, more or fewer of them.
  def urandom(size)
    return super unless StoppedChance.source && size == Tiercel::Store::Tags::Named::GENERATION_BYTES
    StoppedChance.source.bytes(size)
  end
end

Random.singleton_class.prepend(StoppedChance)
