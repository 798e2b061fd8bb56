# frozen_string_literal: true

# Random object graphs: plain data, data that only looks plain, and other objects.
class ObjectGraphs
  Point = Struct.new(:x, :y)
  class Name < String; end
  class Names < Array; end
  class Options < Hash; end
  module Marker; end

  ENCODINGS = [Encoding::UTF_8, Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII, Encoding::UTF_16BE,
               Encoding::ISO_8859_1].freeze

  # @param seed [Integer]
  # @param odd [Float] probability of data that is not plain, from 0 to 1
  def initialize(seed, odd:)
    @random = Random.new(seed)
    @odd = odd
    @made = []
  end

  # @return [Object]
  def make(depth = 0)
    return share if !@made.empty? && odd?
    object = odd? ? odd_one(depth) : plain_one(depth)
    @made << object unless object.frozen?
    object
  end

  private

  def odd? = @random.rand < @odd

  def share = @made.sample(random: @random)

  def plain_one(depth)
    case @random.rand(depth > 3 ? 8 : 12)
    when 0 then [nil, true, false].sample(random: @random)
    when 1 then integer
    when 2 then float
    when 3 then %i[a b größe].push(:"").sample(random: @random)
    when 4..7 then string([Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].sample(random: @random))
    when 8, 9 then Array.new(@random.rand(6)) { make(depth + 1) }
    else hash(depth)
    end
  end

  def odd_one(depth)
    case @random.rand(14)
    when 0 then string(ENCODINGS.sample(random: @random))
    when 1 then Name.new("name")
    when 2 then Names.new([make(depth + 1)])
    when 3 then Options.new.merge!(a: make(depth + 1))
    when 4 then marked([[], {}, +"x"].sample(random: @random))
    when 5 then Hash.new(make(depth + 1)).merge!(1 => 2)
    when 6 then {}.compare_by_identity.merge!(+"k" => make(depth + 1))
    when 7 then Hash.ruby2_keywords_hash({ a: 1 })
    when 8 then Time.at(@random.rand(2**31), @random.rand(10**9), :nsec, in: ["UTC", "+09:00"].sample(random: @random))
    when 9 then Point.new(make(depth + 1), make(depth + 1))
    when 10 then [1..2, /a+/i, 3r, 2i, Object, Kernel, BigDecimal("1.5")].sample(random: @random)
    when 11 then (2**64) + @random.rand(100)
    when 12 then cycle
    else [+"x", [], {}].sample(random: @random).extend(Marker)
    end
  end

  def integer
    bits = @random.rand(1..64)
    number = @random.rand(2**bits)
    @random.rand(2).zero? || number > 2**63 ? number : -number
  end

  # Returns a new object each time, because one object used twice would be shared.
  def float
    [1.5, 0.0 * -@random.rand, 1e-310 * @random.rand, @random.rand * 10**@random.rand(-300..300), 0.0 / 0.0, 1.0 / 0.0]
      .sample(random: @random)
  end

  def string(encoding)
    size = @random.rand(10).zero? ? @random.rand(400) : @random.rand(12)
    return @random.bytes(size) if encoding == Encoding::BINARY
    text = Array.new(size) { ["a", "b", "1", " "].sample(random: @random) }.join
    text << "é" if encoding != Encoding::US_ASCII && @random.rand(2).zero?
    text.encode(encoding)
  end

  def hash(depth)
    Array.new(@random.rand(12)) do
      [@random.rand(3).zero? ? make(depth + 2) : :"k#{@random.rand(99)}", make(depth + 1)]
    end.to_h
  end

  def marked(object)
    object.instance_variable_set(:@mark, 1)
    object
  end

  def cycle
    array = [1]
    array << array
  end
end
