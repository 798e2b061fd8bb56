# frozen_string_literal: true

# Loads every declaration: the lab's own, and those of the tables. The parent plans with them, and workers build with
# them.
require_relative "operations"
require_relative "stores"
require_relative "values"
Dir[File.join(__dir__, "tables", "*", "{stores,operations}.rb")].sort.each { |file| require file }
