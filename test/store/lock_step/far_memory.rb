# frozen_string_literal: true

require "support/ruby_memory"

module LockStep
  # A backend behind a near tier.
  class FarMemory < RubyMemory
    def self.option_names = []
    def self.build(*) = new

    def in_memory? = false
    def local_cache? = false
    def to_s = "far:"

    Tiercel::Backends::REGISTRY.register("far-unmounted") { FarMemory }
  end
end
