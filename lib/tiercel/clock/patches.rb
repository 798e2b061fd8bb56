# frozen_string_literal: true

module Tiercel
  # Detects replacements of `Time.now`: travel_to, Timecop, stubs of test frameworks. While there is no replacement,
  # C code reads the machine's clock directly, at a tenth of the cost.
  #
  # Ruby calls hooks on Time when a singleton method is added or removed. Hooks on its singleton class report
  # prepended modules and their methods. No read has to check anything, and every patch is seen immediately.
  #
  # @private
  module Clock::Patches
    @listeners = []

    class << self
      # @yieldparam original [Boolean] whether `Time.now` is Ruby's own method; called at once and after every
      #   possible change
      # @return [void]
      def watch(&listener)
        notice if @listeners.empty?
        @listeners << listener
        listener.call(original?)
      end

      # Checks `Time.now` again.
      #
      # @return [nil]
      def recheck
        notice
        original = original?
        @listeners.each { |listener| listener.call(original) }
        nil
      end

      # @return [Boolean]
      def original?
        method = Time.singleton_class.instance_method(:now)
        method.owner == Time.singleton_class && method.name == method.original_name &&
          method.source_location&.first.to_s.start_with?("<internal:")
      rescue NameError # while the method is undefined
        false
      end

      private

      # Also watches modules that precede Time's own methods, because methods may be added to them later.
      def notice
        own = Time.singleton_class
        place(own, NoticingSingletons)
        place(own.singleton_class, NoticingModules)
        (own.ancestors.take_while { |mod| mod != own } - [NoticingSingletons]).each do |mod|
          place(mod.singleton_class, NoticingModules, NoticingMethods) unless mod.frozen?
        end
      end

      def place(owner, *modules)
        modules.each { |mod| owner.prepend(mod) unless owner.include?(mod) }
      end
    end

    # Extends Time: reports changes of its singleton methods.
    module NoticingSingletons
      private

      def singleton_method_added(name) = (Clock::Patches.recheck if name == :now) || super
      def singleton_method_removed(name) = (Clock::Patches.recheck if name == :now) || super
      def singleton_method_undefined(name) = (Clock::Patches.recheck if name == :now) || super
    end

    # Extends Time's singleton class and the modules before it: reports further modules.
    module NoticingModules
      # See Module#prepend.
      def prepend(*) = super.tap { Clock::Patches.recheck }

      # See Module#include.
      def include(*) = super.tap { Clock::Patches.recheck }
    end

    # Extends the modules before Time's own methods: reports changes of their methods.
    module NoticingMethods
      private

      def method_added(name) = (Clock::Patches.recheck if name == :now) || super
      def method_removed(name) = (Clock::Patches.recheck if name == :now) || super
      def method_undefined(name) = (Clock::Patches.recheck if name == :now) || super
    end
  end
end
