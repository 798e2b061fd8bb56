# frozen_string_literal: true

module Tiercel
  class Coder
    # What {Coder#load_value} answers where there is no value: nothing usable;
    # an entry whose time is over; a frame that {Coder#load} has to look at.
    # FALLBACK is what the C extension says where the Ruby form has to look.
    MISS, EXPIRED, SLOW, FALLBACK = %w[MISS EXPIRED SLOW FALLBACK].map do |name|
      Object.new.tap { |signal| signal.define_singleton_method(:inspect) { "Tiercel::Coder::#{name}" } }.freeze
    end
  end
end
