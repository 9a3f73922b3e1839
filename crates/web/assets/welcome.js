// welcome
